$ zkstudy story --scenario=S01 --seed=3 --set n=2 --set P=4 --set run=45s --set drain=5s
# One member joins two: each releases everything and claims anew, and who claims before
# the owner has released sleeps for rebalance.backoff.ms.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.003] zk2  is following, epoch 1
[     0.003] zk1  is following, epoch 1
[     0.464] m1   starts as g_724c81ec-0
[     0.467] m1   session 300000001000001 open
[     0.467] m1   connected to zk3
[     0.478] zk3  cause 1: join m1 g_724c81ec-0
[     0.480] m1   rebalance 1
[     0.564] m1   owns t/0 from -1
[     0.564] m1   owns t/1 from -1
[     0.564] m1   owns t/2 from -1
[     0.564] m1   owns t/3 from -1
[     0.564] m1   rebalance 1 done after 1
[     0.931] m2   starts as g_ee42c90b-1
[     0.935] m2   session 300000001000002 open
[     0.935] m2   connected to zk3
[     0.936] zk3  cause 2: join m2 g_ee42c90b-1
[     0.938] m1   rebalance 2
[     0.938] m2   rebalance 1
[     0.944] m1   gives up t/0 (release)
[     0.944] m1   gives up t/1 (release)
[     0.944] m1   gives up t/2 (release)
[     0.944] m1   gives up t/3 (release)
[     1.007] m2   cannot claim t/2: held by g_724c81ec-0-0
[     1.011] m2   cannot claim t/3: held by g_724c81ec-0-0
[     1.011] m2   attempt 0 fails: 2 of 2 claims met an owner node of another member
[     1.048] m1   owns t/0 from 18
[     1.048] m1   owns t/1 from 18
[     1.048] m1   rebalance 2 done after 1
[     3.128] m2   owns t/2 from 18
[     3.128] m2   owns t/3 from 18
[     3.128] m2   rebalance 1 done after 2
[    33.867] m3   starts as g_ffe7f664-2
[    33.867] ctl  fault: join m3
[    33.871] m3   session 100000001000001 open
[    33.871] m3   connected to zk1
[    33.873] zk3  cause 3: join m3 g_ffe7f664-2
[    33.874] m2   rebalance 2
[    33.875] m1   rebalance 3
[    33.876] m3   rebalance 1
[    33.882] m2   gives up t/2 (release)
[    33.882] m2   gives up t/3 (release)
[    33.882] m1   gives up t/0 (release)
[    33.882] m1   gives up t/1 (release)
[    33.945] m3   cannot claim t/3: exists
[    33.945] m3   attempt 0 fails: 1 of 1 claims met an owner node of another member
[    33.953] m2   owns t/2 from 677
[    33.953] m2   rebalance 2 done after 1
[    33.957] m1   owns t/0 from 677
[    33.957] m1   owns t/1 from 677
[    33.957] m1   rebalance 3 done after 1
[    36.061] m3   owns t/3 from 677
[    36.061] m3   rebalance 1 done after 2
