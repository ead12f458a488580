// refused: it compiles
// expect: some other message
// errors: 9
// SPDX-License-Identifier: Apache-2.0
// The message is that of other_message.cpp, with which this is compiled.
int main() {}
