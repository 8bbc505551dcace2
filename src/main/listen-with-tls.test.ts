import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TlsSpec } from '#ports/tls.ts';
import { listenWithTls } from './listen-with-tls.ts';

const specOf = (certificate: string): TlsSpec => ({
  certificate,
  key: '',
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
});

class Source {
  certificate = 'first';
  readonly following = new Set<() => void>();

  current(): TlsSpec {
    return specOf(this.certificate);
  }

  onChange(listener: () => void) {
    this.following.add(listener);
    return { stop: () => void this.following.delete(listener) };
  }

  change(certificate: string): void {
    this.certificate = certificate;
    for (const listener of this.following) listener();
  }
}

class Listener {
  readonly used: (string | undefined)[];

  constructor({ certificate }: TlsSpec) {
    this.used = [certificate];
  }

  replaceTls({ certificate }: TlsSpec): void {
    this.used.push(certificate);
  }
}

test('a certificate that changes while listeners open is used by all of them, as are later ones', async () => {
  const source = new Source();
  const { listeners, stop } = await listenWithTls(source, async (tls) => {
    const opened = [new Listener(tls)];
    source.change('second');
    return [...opened, new Listener(tls)];
  });
  assert.deepEqual(
    listeners.map(({ used }) => used),
    [
      ['first', 'second'],
      ['first', 'second'],
    ],
  );
  source.change('third');
  assert.ok(listeners.every(({ used }) => used.at(-1) === 'third'));
  stop();
  assert.equal(source.following.size, 0);
});

test('a certificate that does not change is given to listeners once, and none is followed where they do not open', async () => {
  const source = new Source();
  const { listeners } = await listenWithTls(source, async (tls) => [new Listener(tls)]);
  assert.deepEqual(listeners[0]?.used, ['first']);
  const failing = new Source();
  await assert.rejects(
    listenWithTls(failing, () => Promise.reject(new Error('the port is in use'))),
    /in use/,
  );
  assert.equal(failing.following.size, 0);
});
