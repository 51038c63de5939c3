$ zkstudy story --scenario=S03 --seed=2 --set n=3 --set P=6 --set run=45s --set drain=5s
# One leaves in order: its nodes are gone at once.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.001] zk3  is leading, epoch 1
[     0.001] zk1  is following, epoch 1
[     0.003] zk2  is following, epoch 1
[     0.431] m3   starts as g_dd7e532f-2
[     0.434] m3   session 300000001000001 open
[     0.434] m3   connected to zk3
[     0.446] zk3  cause 1: join m3 g_dd7e532f-2
[     0.448] m3   rebalance 1
[     0.537] m3   owns t/0 from -1
[     0.537] m3   owns t/1 from -1
[     0.537] m3   owns t/2 from -1
[     0.537] m3   owns t/3 from -1
[     0.537] m3   owns t/4 from -1
[     0.537] m3   owns t/5 from -1
[     0.537] m3   rebalance 1 done after 1
[     0.624] m2   starts as g_fb32555e-1
[     0.627] m2   session 300000001000002 open
[     0.627] m2   connected to zk3
[     0.629] zk3  cause 2: join m2 g_fb32555e-1
[     0.632] m3   rebalance 2
[     0.632] m2   rebalance 1
[     0.638] m3   gives up t/0 (release)
[     0.638] m3   gives up t/1 (release)
[     0.638] m3   gives up t/2 (release)
[     0.638] m3   gives up t/3 (release)
[     0.638] m3   gives up t/4 (release)
[     0.638] m3   gives up t/5 (release)
[     0.701] m2   cannot claim t/3: held by g_dd7e532f-2-0
[     0.704] m2   cannot claim t/4: held by g_dd7e532f-2-0
[     0.707] m2   cannot claim t/5: held by g_dd7e532f-2-0
[     0.707] m2   attempt 0 fails: 3 of 3 claims met an owner node of another member
[     0.760] m3   owns t/0 from 12
[     0.760] m3   owns t/1 from 12
[     0.760] m3   owns t/2 from 12
[     0.760] m3   rebalance 2 done after 1
[     0.870] m1   starts as g_8009454f-0
[     0.874] m1   session 100000001000001 open
[     0.874] m1   connected to zk1
[     0.875] zk3  cause 3: join m1 g_8009454f-0
[     0.877] m3   rebalance 3
[     0.879] m1   rebalance 1
[     0.885] m3   gives up t/0 (release)
[     0.885] m3   gives up t/1 (release)
[     0.885] m3   gives up t/2 (release)
[     0.951] m1   owns t/0 from 17
[     0.951] m1   owns t/1 from 17
[     0.951] m1   rebalance 1 done after 1
[     0.959] m3   owns t/2 from 17
[     0.959] m3   owns t/3 from 12
[     0.959] m3   rebalance 3 done after 1
[     2.825] m2   owns t/4 from 12
[     2.825] m2   owns t/5 from 12
[     2.825] m2   rebalance 1 done after 2
[     2.825] m2   rebalance 2
[     2.832] m2   gives up t/4 (release)
[     2.832] m2   gives up t/5 (release)
[     2.900] m2   owns t/4 from 36
[     2.900] m2   owns t/5 from 12
[     2.900] m2   rebalance 2 done after 1
[    33.611] m1   gives up t/0 (exit)
[    33.611] m1   gives up t/1 (exit)
[    33.611] ctl  fault: leave m1
[    33.665] m1   session 100000001000001 close
[    33.668] zk3  cause 4: leave m1 g_8009454f-0
[    33.668] m1   has left
[    33.670] m2   rebalance 3
[    33.670] m3   rebalance 4
[    33.677] m3   gives up t/2 (release)
[    33.677] m3   gives up t/3 (release)
[    33.677] m2   gives up t/4 (release)
[    33.677] m2   gives up t/5 (release)
[    33.751] m3   owns t/0 from 672
[    33.751] m3   owns t/1 from 672
[    33.751] m3   owns t/2 from 673
[    33.751] m3   rebalance 4 done after 1
[    33.753] m2   owns t/3 from 673
[    33.753] m2   owns t/4 from 673
[    33.753] m2   owns t/5 from 673
[    33.753] m2   rebalance 3 done after 1
