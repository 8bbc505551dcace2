import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeIdentity } from './address-ranges.ts';

test('all spellings of a range name the same network, and other ranges name other networks', () => {
  const networks = [
    ['10.0.0.0/8', '10.1.2.3/8', '10.0.0.0/08', '::ffff:10.9.0.0/104', '::FFFF:a00:0/104'],
    ['10.0.0.0/9'],
    ['10.128.0.0/9'],
    ['10.0.0.1', '10.0.0.1/32', '::ffff:10.0.0.1'],
    ['0.0.0.0/0', '::ffff:0:0/96', '1.2.3.4/0'],
    ['::/0', '2001:db8::/0'],
    ['::1', '0:0:0:0:0:0:0:1/128', '::0.0.0.1'],
    ['::'],
    ['1::'],
    ['2001:DB8::/32', '2001:db8:0:1::/32', '2001:0db8:0000::1.2.3.4/32'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:0.7.0.8', '0001:2:3:4:5:6:7:8'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ];
  for (const spellings of networks) {
    const [first = ''] = spellings;
    for (const spelling of spellings) assert.equal(rangeIdentity(spelling), rangeIdentity(first), spelling);
  }
  const different = new Set(networks.map(([first = '']) => rangeIdentity(first)));
  assert.equal(different.size, networks.length);
});
