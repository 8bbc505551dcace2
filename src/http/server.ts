// The REST server: one Fastify instance behind any number of plain and TLS listeners.
//
//   const server = await createHttpServer({ routes, authority, hooks, log, clock });
//   const plain = await server.listen({ host, port });            // plain.port
//   const secure = await server.listen({ host, port: 0, tls });   // secure.replaceTls(tls) later
//   await server.inject({ method: 'GET', url: '/pools' });        // tests, without a socket
//   await server.stop(deadlineMs);
//
// Routing, bodies and errors are this folder's own (pipeline.ts): the published rules differ from the framework's.
import { fastify, type InjectOptions, type LightMyRequestResponse } from 'fastify';
import type { BoundRoute, RouteDefinition } from '#contract/route.ts';
import { idleServer, type Listener, openListener, type TlsOptions } from './listener.host.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';

export interface HttpServer {
  readonly routes: readonly RouteDefinition[];
  listen(options: { host: string; port: number; tls?: TlsOptions }): Promise<Listener>;
  inject(request: InjectOptions): Promise<LightMyRequestResponse>;
  /** Closes the listeners, ends streams, lets running requests finish until the deadline. */
  stop(deadlineMs: number): Promise<void>;
}

type RequestListener = Parameters<typeof openListener>[0];

export async function createHttpServer(options: PipelineOptions): Promise<HttpServer> {
  const pipeline = new Pipeline(options);
  let handler: RequestListener | undefined;
  const app = fastify({
    // The framework's router sees one path only; the real one is `originalUrl`.
    rewriteUrl: () => '/',
    serverFactory: (listener) => {
      handler = listener;
      return idleServer(listener);
    },
  });
  // A hook and not a handler: handlers come after the framework's own body parsing, which refuses what we tolerate.
  // It never calls back, because the pipeline always answers.
  app.addHook('onRequest', (request, out, _next) => void pipeline.serve(request, out));
  await app.ready();
  const listeners: Listener[] = [];
  return {
    routes: options.routes.map((bound: BoundRoute) => bound.route),
    async listen(where) {
      const listener = await openListener(handler as RequestListener, where);
      listeners.push(listener);
      return listener;
    },
    inject: (request) => app.inject(request),
    async stop(deadlineMs) {
      const closed = listeners.map((listener) => listener.close(options.clock, deadlineMs));
      pipeline.abortAll();
      await Promise.all(closed);
      await app.close();
    },
  };
}
