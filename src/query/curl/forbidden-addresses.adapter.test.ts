import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isForbidden } from './forbidden-addresses.adapter.ts';

const own = ['192.168.7.5', '2001:db8::5', 'fe80::1%eth0'];

test('addresses of this machine, of its network link, of cloud metadata services and of groups of hosts are forbidden, however written', () => {
  for (const address of [
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '0.1.2.3',
    '169.254.169.254',
    '169.254.0.1',
    '100.100.100.200', // metadata service of Alibaba Cloud
    '192.0.0.192', // metadata service of Oracle Cloud
    '168.63.129.16', // host of virtual machines of Azure
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    '::',
    '::1',
    '0:0:0:0:0:0:0:1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fec0::1',
    'ff02::1',
    'fd00:ec2::254', // metadata service of AWS
    'fd20:ce::254', // metadata service of Google Cloud
    // IPv6 addresses that embed an IPv4 address: mapped, compatible, NAT64, 6to4, translated.
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::ffff:169.254.169.254',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '2002:7f00:1::',
    '::ffff:0:127.0.0.1',
    // Addresses of this machine's interfaces.
    '192.168.7.5',
    '::ffff:192.168.7.5',
    '2001:db8::5',
    '2001:DB8:0::5',
    // No addresses.
    '',
    'localhost',
    '127.1',
    '1.2.3',
    'x',
  ])
    assert.equal(isForbidden(address, own), true, address);
});

test('all other addresses are for the allowlist to decide', () => {
  for (const address of [
    '8.8.8.8',
    '10.0.0.1',
    '192.168.7.6',
    '172.16.0.1',
    '100.100.100.201',
    '128.0.0.1',
    '223.255.255.1',
    '2001:db8::6',
    'fd00::1',
    'fc00::1',
    '2600::',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::',
  ])
    assert.equal(isForbidden(address, own), false, address);
});
