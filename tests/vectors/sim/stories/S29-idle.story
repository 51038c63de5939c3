$ zkstudy story --scenario=S29 --seed=1 --set n=4 --set P=2 --set run=30s --set drain=5s
# More members than partitions: two do nothing but take part in each rebalance.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk2  is following, epoch 1
[     0.003] zk1  is following, epoch 1
[     0.153] m3   starts as g_c3
[     0.156] m3   session 300000001000001 open
[     0.156] m3   connected to zk3
[     0.168] zk3  cause 1: join m3 g_c3
[     0.171] m3   rebalance 1
[     0.247] m3   owns t/0 from -1
[     0.247] m3   owns t/1 from -1
[     0.247] m3   rebalance 1 done after 1
[     0.293] m4   starts as g_c4
[     0.296] m4   session 300000001000002 open
[     0.296] m4   connected to zk3
[     0.298] zk3  cause 2: join m4 g_c4
[     0.300] m3   rebalance 2
[     0.301] m4   rebalance 1
[     0.307] m3   gives up t/0 (release)
[     0.307] m3   gives up t/1 (release)
[     0.367] m4   cannot claim t/1: held by g_c3-0
[     0.367] m4   attempt 0 fails: 1 of 1 claims met an owner node of another member
[     0.371] m2   starts as g_c2
[     0.374] m2   session 200000001000001 open
[     0.374] m2   connected to zk2
[     0.377] zk3  cause 3: join m2 g_c2
[     0.380] m2   rebalance 1
[     0.391] m3   owns t/1 from 6
[     0.391] m3   rebalance 2 done after 1
[     0.391] m3   rebalance 3
[     0.398] m3   gives up t/1 (release)
[     0.447] m2   owns t/0 from 6
[     0.447] m2   rebalance 1 done after 1
[     0.464] m3   owns t/1 from 7
[     0.464] m3   rebalance 3 done after 1
[     0.983] m1   starts as g_c1
[     0.987] m1   session 200000001000002 open
[     0.987] m1   connected to zk2
[     0.989] zk3  cause 4: join m1 g_c1
[     0.991] m3   rebalance 4
[     0.991] m2   rebalance 2
[     0.992] m1   rebalance 1
[     0.998] m3   gives up t/1 (release)
[     0.999] m2   gives up t/0 (release)
[     1.059] m1   owns t/0 from 19
[     1.059] m1   rebalance 1 done after 1
[     1.060] m3   rebalance 4 done after 1
[     1.064] m2   owns t/1 from 19
[     1.064] m2   rebalance 2 done after 1
[     2.480] m4   rebalance 1 done after 2
[     2.480] m4   rebalance 2
[     2.543] m4   rebalance 2 done after 1
[     2.543] m4   rebalance 3
[     2.606] m4   rebalance 3 done after 1
