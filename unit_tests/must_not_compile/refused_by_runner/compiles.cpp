// expect: anything
int main() {}
