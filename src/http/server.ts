// The REST server: one pipeline behind any number of plain and TLS listeners.
//
//   const server = await createHttpServer({ routes, authority, hooks, log, clock });
//   const plain = await server.listen({ host, port });            // plain.port
//   const secure = await server.listen({ host, port: 0, tls });   // secure.replaceTls(tls) later
//   await server.inject({ method: 'GET', url: '/pools' });        // tests, without a socket
//   await server.stop(deadlineMs);
//
// Routing, bodies and errors are implemented here (pipeline.ts), since no framework follows the published rules.
import type { RequestListener } from 'node:http';
import type { InjectOptions, Response } from 'light-my-request';
import type { BoundRoute, RouteDefinition } from '#contract/route.ts';
import { type Listener, type ListenOptions, openListener } from './listener.host.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';

export interface HttpServer {
  readonly routes: readonly RouteDefinition[];
  listen(options: ListenOptions): Promise<Listener>;
  inject(request: InjectOptions): Promise<Response>;
  /** Closes the listeners, ends streams, lets running requests finish until the deadline. */
  stop(deadlineMs: number): Promise<void>;
}

export async function createHttpServer(options: PipelineOptions): Promise<HttpServer> {
  const pipeline = new Pipeline(options);
  const handler: RequestListener = (request, response) => {
    pipeline.serve(request, response).catch((error: unknown) => pipeline.abandon(response, error));
  };
  const listeners: Listener[] = [];
  return {
    routes: options.routes.map((bound: BoundRoute) => bound.route),
    async listen(where) {
      const listener = await openListener(handler, where);
      listeners.push(listener);
      return listener;
    },
    async inject(request) {
      const { inject } = await import('light-my-request');
      return await inject(handler, request);
    },
    async stop(deadlineMs) {
      const closed = listeners.map((listener) => listener.close(options.clock, deadlineMs));
      pipeline.abortAll();
      await Promise.all(closed);
    },
  };
}
