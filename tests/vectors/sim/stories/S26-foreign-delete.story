$ zkstudy story --scenario=S26 --seed=2 --long --set members=2 --set 'topic.t=4 rate 0' --set 'fault.2=when m2:release:2 cut m2 zk* both for 12s' --set start=0s --set warmup=10s --set run=55s --set drain=5s --set zk.servers=1
# Cut from ZooKeeper in the middle of a release, and the session ends meanwhile: what is left of the
# release is sent in the new one, and deletes the node of whoever has claimed since.
[     0.000] zk1  create /brokers (zxid 1)
[     0.000] zk1  create /brokers/ids (zxid 2)
[     0.000] zk1  create /brokers/topics (zxid 3)
[     0.000] zk1  create /consumers (zxid 4)
[     0.000] zk1  create /brokers/topics/t (zxid 5)
[     0.000] zk1  create /brokers/ids/0 (zxid 6)
[     0.000] zk1  create /brokers/ids/1 (zxid 7)
[     0.000] zk1  create /brokers/ids/2 (zxid 8)
[     0.000] zk1  is leading, epoch 1
[     0.000] zk1  is leading, epoch 1
[     0.000] m1   starts as g_8009454f-0
[     0.000] m2   starts as g_fb32555e-1
[     0.001] m2   session 100000001000001 open
[     0.001] m2   connected to zk1
[     0.002] m1   session 100000001000002 open
[     0.002] m1   connected to zk1
[     0.007] m2   create /consumers/g (zxid 100000007)
[     0.009] m2   create /consumers/g/ids (zxid 100000009)
[     0.012] m2   create /consumers/g/ids/g_fb32555e-1 (zxid 10000000b)
[     0.012] zk1  cause 1: join m2 g_fb32555e-1
[     0.013] m1   create /consumers/g/ids/g_8009454f-0 (zxid 10000000c)
[     0.013] zk1  cause 2: join m1 g_8009454f-0
[     0.015] m2   rebalance 1
[     0.016] m1   rebalance 1
[     0.077] m2   sees 2 members, 4 partitions
[     0.077] m2   wants t/2-3
[     0.078] m1   sees 2 members, 4 partitions
[     0.078] m1   wants t/0-1
[     0.078] m2   reads offset -1 of t/2
[     0.079] m1   reads offset -1 of t/0
[     0.079] m2   reads offset -1 of t/3
[     0.080] m1   reads offset -1 of t/1
[     0.086] m2   create /consumers/g/owners (zxid 100000011)
[     0.089] m2   create /consumers/g/owners/t (zxid 100000013)
[     0.091] m2   create /consumers/g/owners/t/2 (zxid 100000015)
[     0.091] m2   claims t/2
[     0.092] m1   create /consumers/g/owners/t/0 (zxid 100000016)
[     0.092] m1   claims t/0
[     0.093] m2   create /consumers/g/owners/t/3 (zxid 100000017)
[     0.094] m2   claims t/3
[     0.094] m2   owns t/2 from -1
[     0.094] m2   owns t/3 from -1
[     0.094] m2   rebalance 1 done after 1
[     0.095] m1   create /consumers/g/owners/t/1 (zxid 100000018)
[     0.096] m1   claims t/1
[     0.096] m1   owns t/0 from -1
[     0.096] m1   owns t/1 from -1
[     0.096] m1   rebalance 1 done after 1
[    33.611] m3   starts as g_dd7e532f-2
[    33.611] ctl  fault: join m3
[    33.613] m3   session 100000001000003 open
[    33.613] m3   connected to zk1
[    33.615] m3   create /consumers/g/ids/g_dd7e532f-2 (zxid 10000001a)
[    33.615] zk1  cause 3: join m3 g_dd7e532f-2
[    33.616] m1   NodeChildrenChanged /consumers/g/ids
[    33.616] m2   NodeChildrenChanged /consumers/g/ids
[    33.617] m1   rebalance 2
[    33.618] m2   rebalance 2
[    33.618] m3   rebalance 1
[    33.624] m1   gives up t/0 (release)
[    33.624] m1   gives up t/1 (release)
[    33.626] m2   gives up t/2 (release)
[    33.626] m2   gives up t/3 (release)
[    33.681] m1   create /consumers/g/offsets (zxid 10000001f)
[    33.682] m3   sees 3 members, 4 partitions
[    33.682] m3   wants t/2
[    33.682] m3   reads offset -1 of t/2
[    33.684] m1   create /consumers/g/offsets/t (zxid 100000021)
[    33.687] m1   commits 0 of t/0: ok
[    33.687] m3   cannot claim t/2: held by g_fb32555e-1-0
[    33.687] m3   attempt 0 fails: 1 of 1 claims met an owner node of another member
[    33.688] m2   commits 0 of t/2: ok
[    33.695] m1   commits 0 of t/1: ok
[    33.696] m2   commits 0 of t/3: ok
[    33.697] m1   delete /consumers/g/owners/t/0 (zxid 10000002c)
[    33.697] m1   releases t/0: ok
[    33.697] m2   delete /consumers/g/owners/t/2 (zxid 10000002d)
[    33.698] m2   releases t/2: ok
[    33.698] ctl  fault: cut m2 - zk* both
[    33.699] m1   delete /consumers/g/owners/t/1 (zxid 10000002e)
[    33.700] m1   releases t/1: ok
[    33.705] m1   sees 3 members, 4 partitions
[    33.705] m1   wants t/0-1
[    33.706] m1   reads offset 0 of t/0
[    33.707] m1   reads offset 0 of t/1
[    33.708] m1   create /consumers/g/owners/t/0 (zxid 10000002f)
[    33.709] m1   claims t/0
[    33.711] m1   create /consumers/g/owners/t/1 (zxid 100000030)
[    33.711] m1   claims t/1
[    33.711] m1   owns t/0 from 0
[    33.711] m1   owns t/1 from 0
[    33.711] m1   rebalance 2 done after 1
[    35.800] m3   sees 3 members, 4 partitions
[    35.800] m3   wants t/2
[    35.801] m3   reads offset 0 of t/2
[    35.803] m3   create /consumers/g/owners/t/2 (zxid 100000031)
[    35.803] m3   claims t/2
[    35.803] m3   owns t/2 from 0
[    35.803] m3   rebalance 1 done after 2
[    37.698] m2   disconnected
[    41.434] m2   session 100000001000001 expire
[    41.434] m2   close /consumers/g/owners/t/3 (zxid 100000032)
[    41.434] m2   close /consumers/g/ids/g_fb32555e-1 (zxid 100000032)
[    41.434] zk1  cause 4: expire m2 g_fb32555e-1
[    41.434] m3   NodeChildrenChanged /consumers/g/ids
[    41.434] m1   NodeChildrenChanged /consumers/g/ids
[    41.435] m1   rebalance 3
[    41.436] m3   rebalance 2
[    41.442] m1   gives up t/0 (release)
[    41.442] m1   gives up t/1 (release)
[    41.443] m3   gives up t/2 (release)
[    41.493] m1   delete /consumers/g/owners/t/0 (zxid 100000033)
[    41.494] m1   releases t/0: ok
[    41.495] m3   delete /consumers/g/owners/t/2 (zxid 100000034)
[    41.495] m3   releases t/2: ok
[    41.496] m1   delete /consumers/g/owners/t/1 (zxid 100000035)
[    41.496] m1   releases t/1: ok
[    41.500] m3   sees 2 members, 4 partitions
[    41.500] m3   wants t/2-3
[    41.501] m3   reads offset 0 of t/2
[    41.501] m1   sees 2 members, 4 partitions
[    41.501] m1   wants t/0-1
[    41.501] m3   reads offset 0 of t/3
[    41.502] m1   reads offset 0 of t/0
[    41.502] m3   create /consumers/g/owners/t/2 (zxid 100000036)
[    41.502] m3   claims t/2
[    41.503] m1   reads offset 0 of t/1
[    41.503] m3   create /consumers/g/owners/t/3 (zxid 100000037)
[    41.504] m3   claims t/3
[    41.504] m3   owns t/2 from 0
[    41.504] m3   owns t/3 from 0
[    41.504] m3   rebalance 2 done after 1
[    41.504] m1   create /consumers/g/owners/t/0 (zxid 100000038)
[    41.505] m1   claims t/0
[    41.507] m1   create /consumers/g/owners/t/1 (zxid 100000039)
[    41.507] m1   claims t/1
[    41.507] m1   owns t/0 from 0
[    41.507] m1   owns t/1 from 0
[    41.507] m1   rebalance 3 done after 1
[    45.698] ctl  healed: cut m2 - zk* both
[    45.698] m2   expired
[    45.709] m2   session 100000001000004 open
[    45.709] m2   connected to zk1
[    45.711] m2   delete /consumers/g/owners/t/3 (zxid 10000003b)
[    45.711] m2   releases t/3: ok, another's
[    45.712] m2   create /consumers/g/ids/g_fb32555e-1 (zxid 10000003c)
[    45.712] zk1  cause 5: join m2 g_fb32555e-1
[    45.713] m3   NodeChildrenChanged /consumers/g/ids
[    45.713] m1   NodeChildrenChanged /consumers/g/ids
[    45.714] m3   rebalance 3
[    45.714] m1   rebalance 4
[    45.718] m2   sees 3 members, 4 partitions
[    45.718] m2   wants t/3
[    45.718] m2   reads offset 0 of t/3
[    45.720] m2   create /consumers/g/owners/t/3 (zxid 10000003d)
[    45.720] m2   claims t/3
[    45.720] m2   owns t/3 from 0
[    45.720] m2   rebalance 2 done after 1
[    45.720] m2   rebalance 3
[    45.722] m3   gives up t/2 (release)
[    45.722] m3   gives up t/3 (release)
[    45.722] m1   gives up t/0 (release)
[    45.722] m1   gives up t/1 (release)
[    45.728] m2   gives up t/3 (release)
[    45.774] m1   delete /consumers/g/owners/t/0 (zxid 10000003e)
[    45.774] m1   releases t/0: ok
[    45.775] m3   delete /consumers/g/owners/t/2 (zxid 10000003f)
[    45.775] m3   releases t/2: ok
[    45.776] m1   delete /consumers/g/owners/t/1 (zxid 100000040)
[    45.776] m3   delete /consumers/g/owners/t/3 (zxid 100000041)
[    45.776] m1   releases t/1: ok
[    45.776] m3   releases t/3: ok, another's
[    45.781] m2   releases t/3: NoNode
[    45.782] m1   sees 3 members, 4 partitions
[    45.782] m1   wants t/0-1
[    45.782] m3   sees 3 members, 4 partitions
[    45.782] m3   wants t/2
[    45.782] m1   reads offset 0 of t/0
[    45.783] m3   reads offset 0 of t/2
[    45.783] m1   reads offset 0 of t/1
[    45.784] m3   create /consumers/g/owners/t/2 (zxid 100000043)
[    45.785] m3   claims t/2
[    45.785] m3   owns t/2 from 0
[    45.785] m3   rebalance 3 done after 1
[    45.786] m1   create /consumers/g/owners/t/0 (zxid 100000044)
[    45.786] m1   claims t/0
[    45.786] m2   sees 3 members, 4 partitions
[    45.786] m2   wants t/3
[    45.787] m2   reads offset 0 of t/3
[    45.788] m1   create /consumers/g/owners/t/1 (zxid 100000045)
[    45.788] m1   claims t/1
[    45.788] m1   owns t/0 from 0
[    45.788] m1   owns t/1 from 0
[    45.788] m1   rebalance 4 done after 1
[    45.788] m2   create /consumers/g/owners/t/3 (zxid 100000046)
[    45.789] m2   claims t/3
[    45.789] m2   owns t/3 from 0
[    45.789] m2   rebalance 3 done after 1
[    45.790] m2   rebalance 4
[    45.798] m2   gives up t/3 (release)
[    45.849] m2   delete /consumers/g/owners/t/3 (zxid 100000047)
[    45.849] m2   releases t/3: ok
[    45.855] m2   sees 3 members, 4 partitions
[    45.855] m2   wants t/3
[    45.856] m2   reads offset 0 of t/3
[    45.856] m2   create /consumers/g/owners/t/3 (zxid 100000048)
[    45.857] m2   claims t/3
[    45.857] m2   owns t/3 from 0
[    45.857] m2   rebalance 4 done after 1
[    45.857] m2   rebalance 5
[    45.863] m2   gives up t/3 (release)
[    45.915] m2   delete /consumers/g/owners/t/3 (zxid 100000049)
[    45.915] m2   releases t/3: ok
[    45.920] m2   sees 3 members, 4 partitions
[    45.920] m2   wants t/3
[    45.921] m2   reads offset 0 of t/3
[    45.923] m2   create /consumers/g/owners/t/3 (zxid 10000004a)
[    45.923] m2   claims t/3
[    45.923] m2   owns t/3 from 0
[    45.923] m2   rebalance 5 done after 1
