// The time that one connection takes for a request, from its frame to its reply, without sockets and so without system calls.
import { vbucketOf } from '../src/client/document-key.ts';
import { encodeRequest } from '../src/wire/output.ts';
import { aBareConnection } from '../test/support/bare-connection.ts';
import { Opcode } from '../test/support/opcodes.ts';

const keyCount = 10_000;

function frames(): { gets: Buffer[]; sets: Buffer[] } {
  const names = Array.from({ length: keyCount }, (_, index) => `user:profile:${(index * 7919) % keyCount}`);
  const head = (name: string) => ({
    key: Buffer.from(`\0${name}`),
    vb: vbucketOf(name),
  });
  const body = { opcode: Opcode.set, extras: Buffer.alloc(8), value: Buffer.alloc(256, 'v') };
  return {
    gets: names.map((name) => encodeRequest({ opcode: Opcode.get, ...head(name) })),
    sets: names.map((name) => encodeRequest({ ...body, ...head(name) })),
  };
}

const chunksOf = (all: Buffer[], size: number): Buffer[] =>
  Array.from({ length: Math.floor(all.length / size) }, (_, at) =>
    Buffer.concat(all.slice(at * size, (at + 1) * size)),
  );

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  await using bare = await aBareConnection();
  const { connection } = bare;
  const { gets, sets } = frames();
  const rounds = smoke ? 2 : 300;
  for (const [what, all] of Object.entries({ sets, gets })) {
    for (const size of [1, 64]) {
      const chunks = chunksOf(all, size);
      let best = Number.POSITIVE_INFINITY;
      for (let round = 0; round < rounds; round++) {
        const start = process.hrtime.bigint();
        for (const chunk of chunks) connection.received(chunk, 0, chunk.length);
        best = Math.min(best, Number(process.hrtime.bigint() - start) / (chunks.length * size));
      }
      console.log(`${what}, ${String(size).padStart(2)} in a read: ${Math.round(best)} ns each at best`);
    }
  }
}
