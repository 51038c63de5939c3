$ zkstudy story --scenario=S22 --seed=1 --set n=4 --set P=4 --set run=30s --set drain=5s
# Four start within 5 s: each start makes all those before it rebalance.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk2  is following, epoch 1
[     0.003] zk1  is following, epoch 1
[     1.339] m4   starts as g_7b81a989-3
[     1.342] m4   session 300000001000001 open
[     1.342] m4   connected to zk3
[     1.354] zk3  cause 1: join m4 g_7b81a989-3
[     1.357] m4   rebalance 1
[     1.440] m4   owns t/0 from -1
[     1.440] m4   owns t/1 from -1
[     1.440] m4   owns t/2 from -1
[     1.440] m4   owns t/3 from -1
[     1.440] m4   rebalance 1 done after 1
[     1.943] m3   starts as g_0bfc1e42-2
[     1.947] m3   session 300000001000002 open
[     1.947] m3   connected to zk3
[     1.949] zk3  cause 2: join m3 g_0bfc1e42-2
[     1.951] m4   rebalance 2
[     1.952] m3   rebalance 1
[     1.958] m4   gives up t/0 (release)
[     1.958] m4   gives up t/1 (release)
[     1.958] m4   gives up t/2 (release)
[     1.958] m4   gives up t/3 (release)
[     2.019] m3   cannot claim t/0: held by g_7b81a989-3-0
[     2.023] m3   cannot claim t/1: held by g_7b81a989-3-0
[     2.023] m3   attempt 0 fails: 2 of 2 claims met an owner node of another member
[     2.060] m4   owns t/2 from 39
[     2.060] m4   owns t/3 from 39
[     2.060] m4   rebalance 2 done after 1
[     2.700] m2   starts as g_658eec67-1
[     2.703] m2   session 100000001000001 open
[     2.703] m2   connected to zk1
[     2.705] zk3  cause 3: join m2 g_658eec67-1
[     2.708] m4   rebalance 3
[     2.708] m2   rebalance 1
[     2.715] m4   gives up t/2 (release)
[     2.715] m4   gives up t/3 (release)
[     2.775] m2   owns t/2 from 54
[     2.775] m2   rebalance 1 done after 1
[     2.782] m4   owns t/3 from 54
[     2.782] m4   rebalance 3 done after 1
[     4.141] m3   owns t/0 from 39
[     4.141] m3   owns t/1 from 39
[     4.141] m3   rebalance 1 done after 2
[     4.141] m3   rebalance 2
[     4.148] m3   gives up t/0 (release)
[     4.148] m3   gives up t/1 (release)
[     4.221] m3   owns t/0 from 70
[     4.221] m3   owns t/1 from 82
[     4.221] m3   rebalance 2 done after 1
[     5.374] m1   starts as g_a1b965f4-0
[     5.377] m1   session 200000001000001 open
[     5.377] m1   connected to zk2
[     5.379] zk3  cause 4: join m1 g_a1b965f4-0
[     5.381] m3   rebalance 3
[     5.381] m1   rebalance 1
[     5.382] m4   rebalance 4
[     5.382] m2   rebalance 2
[     5.388] m3   gives up t/0 (release)
[     5.388] m3   gives up t/1 (release)
[     5.388] m4   gives up t/3 (release)
[     5.389] m2   gives up t/2 (release)
[     5.447] m1   owns t/3 from 107
[     5.447] m1   rebalance 1 done after 1
[     5.455] m4   owns t/2 from 107
[     5.455] m4   rebalance 4 done after 1
[     5.457] m2   owns t/1 from 107
[     5.457] m2   rebalance 2 done after 1
[     5.459] m3   owns t/0 from 107
[     5.459] m3   rebalance 3 done after 1
