#include <strata/strata.hpp>
#include <gtest/gtest.h>
#include <set>
#include <mutex>
#include <thread>
using namespace strata;
TEST(A, Ends) { long n=0; parallel_reduce(on(Serial{}), range(INT64_MAX-10, INT64_MAX), [](auto, long& s){ ++s; }, Sum(n)); EXPECT_EQ(n,10); 
 long m=0; parallel_scan(on(Threads{}), range(INT64_MAX-10, INT64_MAX), [](auto, long& s, bool){ ++s; }, Sum(m)); EXPECT_EQ(m,10);
 long k=0; parallel_reduce(on(Serial{}), range(INT64_MIN, INT64_MIN+10), [](auto, long& s){ ++s; }, Sum(k)); EXPECT_EQ(k,10);}
TEST(A, Tile) { int hit[8]={}; parallel_for(on(Serial{}), mdrange({1,0},{5,4},{INT64_MAX,1}), [&](auto i, auto){ ++hit[i]; }); EXPECT_EQ(hit[4],4); }
TEST(A, Dyn) { EXPECT_EQ(range(8).chunk(7).dynamic().chunk_size, 7); std::mutex mu; std::set<std::thread::id> ids;
 double s=0, t=0; auto k=[&](auto i, double& v){ { std::lock_guard l(mu); ids.insert(std::this_thread::get_id()); } std::this_thread::sleep_for(std::chrono::milliseconds(2)); v += 1.0/(1+i); };
 parallel_reduce(on(Threads{}), range(64).dynamic(), k, Sum(s)); EXPECT_EQ(ids.size(), (size_t)Threads::concurrency());
 parallel_reduce(on(Serial{}), range(64), k, Sum(t)); EXPECT_EQ(s,t); }
TEST(A, Scan) { auto x=create<MDArray<int,Threads,rank<1>>>("x",5), y=create<MDArray<int,Threads,rank<1>>>("y",4); EXPECT_THROW(inclusive_scan(x,y), ShapeMismatch); }
TEST(A, End) { std::thread t([]{ try { for(;;) parallel_for(on(Threads{}), 100000, [](auto){}); } catch (const RuntimeEnded&) {} }); std::this_thread::sleep_for(std::chrono::milliseconds(50)); finalize(); t.join(); }
