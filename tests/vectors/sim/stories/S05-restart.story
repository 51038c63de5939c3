$ zkstudy story --scenario=S05 --seed=1 --set drain=5s --set run=45s
# Killed and started again under a new id: the ghost's owner nodes stay until its session
# ends. Here the last attempt comes after that.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk2  is following, epoch 1
[     0.003] zk1  is following, epoch 1
[     0.983] m1   starts as g_c1
[     0.987] m1   session 200000001000001 open
[     0.987] m1   connected to zk2
[     1.000] zk3  cause 1: join m1 g_c1
[     1.004] m1   rebalance 1
[     1.090] m1   owns t/0 from -1
[     1.090] m1   owns t/1 from -1
[     1.090] m1   owns t/2 from -1
[     1.090] m1   owns t/3 from -1
[     1.090] m1   rebalance 1 done after 1
[    30.439] m1   is dead
[    30.439] ctl  fault: crash m1
[    30.440] m1   starts as g_c1_2
[    30.440] ctl  healed: crash m1
[    30.443] m1   session 300000001000001 open
[    30.443] m1   connected to zk3
[    30.446] zk3  cause 2: join m1 g_c1_2
[    30.449] m1   rebalance 1
[    30.516] m1   cannot claim t/2: held by g_c1-0
[    30.520] m1   cannot claim t/3: held by g_c1-0
[    30.520] m1   attempt 0 fails: 2 of 2 claims met an owner node of another member
[    32.636] m1   cannot claim t/2: held by g_c1-0
[    32.639] m1   cannot claim t/3: held by g_c1-0
[    32.639] m1   attempt 1 fails: 2 of 2 claims met an owner node of another member
[    34.756] m1   cannot claim t/2: held by g_c1-0
[    34.759] m1   cannot claim t/3: held by g_c1-0
[    34.759] m1   attempt 2 fails: 2 of 2 claims met an owner node of another member
[    36.818] m1   session 200000001000001 expire
[    36.818] zk3  cause 3: expire m1 g_c1
[    36.881] m1   owns t/0 from -1
[    36.881] m1   owns t/1 from -1
[    36.881] m1   owns t/2 from -1
[    36.881] m1   owns t/3 from -1
[    36.881] m1   rebalance 1 done after 4
[    36.881] m1   rebalance 2
[    36.889] m1   gives up t/0 (release)
[    36.889] m1   gives up t/1 (release)
[    36.889] m1   gives up t/2 (release)
[    36.889] m1   gives up t/3 (release)
[    36.996] m1   owns t/0 from 0
[    36.996] m1   owns t/1 from 0
[    36.996] m1   owns t/2 from 0
[    36.996] m1   owns t/3 from 0
[    36.996] m1   rebalance 2 done after 1
