// The cloud's HTTP server with a constant answer of a given size, as the baseline of the cloud's own work.
import Fastify from 'fastify';

const app = Fastify({ requestTimeout: 30_000, forceCloseConnections: 'idle' });
app.get<{ Querystring: { bytes: string } }>('/constant', (request, reply) => {
  reply.type('application/json; charset=utf-8').send(constant(Number(request.query.bytes)));
});
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);

const bodies = new Map<number, string>();
function constant(bytes: number): string {
  const body = bodies.get(bytes) ?? JSON.stringify('x'.repeat(bytes - 2));
  bodies.set(bytes, body);
  return body;
}
