$ zkstudy story --scenario=S05 --seed=5 --set drain=5s --set run=45s
# The same, and the last attempt comes before the ghost's session ends: it gives up.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk1  is following, epoch 1
[     0.003] zk2  is following, epoch 1
[     0.793] m1   starts as g_c1
[     0.797] m1   session 100000001000001 open
[     0.797] m1   connected to zk1
[     0.809] zk3  cause 1: join m1 g_c1
[     0.812] m1   rebalance 1
[     0.899] m1   owns t/0 from -1
[     0.899] m1   owns t/1 from -1
[     0.899] m1   owns t/2 from -1
[     0.899] m1   owns t/3 from -1
[     0.899] m1   rebalance 1 done after 1
[    34.372] m1   is dead
[    34.372] ctl  fault: crash m1
[    34.373] m1   starts as g_c1_2
[    34.373] ctl  healed: crash m1
[    34.376] m1   session 200000001000001 open
[    34.376] m1   connected to zk2
[    34.377] zk3  cause 2: join m1 g_c1_2
[    34.380] m1   rebalance 1
[    34.448] m1   cannot claim t/2: held by g_c1-0
[    34.452] m1   cannot claim t/3: held by g_c1-0
[    34.452] m1   attempt 0 fails: 2 of 2 claims met an owner node of another member
[    36.568] m1   cannot claim t/2: held by g_c1-0
[    36.572] m1   cannot claim t/3: held by g_c1-0
[    36.572] m1   attempt 1 fails: 2 of 2 claims met an owner node of another member
[    38.689] m1   cannot claim t/2: held by g_c1-0
[    38.692] m1   cannot claim t/3: held by g_c1-0
[    38.692] m1   attempt 2 fails: 2 of 2 claims met an owner node of another member
[    40.808] m1   cannot claim t/2: held by g_c1-0
[    40.811] m1   cannot claim t/3: held by g_c1-0
[    40.811] m1   attempt 3 fails: 2 of 2 claims met an owner node of another member
[    41.239] m1   session 100000001000001 expire
[    41.239] zk3  cause 3: expire m1 g_c1
[    42.861] m1   rebalance 1 given up after 4
[    42.861] m1   rebalance 2
[    42.933] m1   owns t/0 from -1
[    42.933] m1   owns t/1 from -1
[    42.933] m1   owns t/2 from -1
[    42.933] m1   owns t/3 from -1
[    42.933] m1   rebalance 2 done after 1
