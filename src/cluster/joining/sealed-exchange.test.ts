import assert from 'node:assert/strict';
import { it } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { SealedExchange } from './sealed-exchange.ts';

it('lets only the other side of the exchange with the same credentials open what was sealed', () => {
  const [a, b, c] = Array.from({ length: 3 }, () => new SealedExchange(realRandom)) as [
    SealedExchange,
    SealedExchange,
    SealedExchange,
  ];
  const sealed = a.seal(b.offer, 'ann:secret', { key: 'k' });
  assert.deepEqual(b.open(a.offer, 'ann:secret', sealed), { key: 'k' });
  assert.ok(!sealed.includes('"k"'));
  assert.throws(() => b.open(a.offer, 'ann:other', sealed), { name: 'UnsealError' });
  assert.throws(() => c.open(a.offer, 'ann:secret', sealed), { name: 'UnsealError' });
  assert.throws(() => b.open('no key', 'ann:secret', sealed));
});
