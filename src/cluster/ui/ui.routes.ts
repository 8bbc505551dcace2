// Serves the web console, unless a setting disables it for ports with or without TLS, and opens and ends its sessions.

import type { ConsoleAnswer, ConsoleSite } from '#console/console-site.ts';
import { type BoundRoute, bind, type Context, type Reply, reply } from '#contract/route.ts';
import { type Sessions, sessionCookie } from '#http/sessions.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import type { SecurityState } from '../security/security-state.ts';
import { EndSession, GetAsset, GetConsole, GetPublishedPage, GetRoot, OpenSession } from './ui.contract.ts';

export interface UiDeps {
  security: { readonly state: Pick<SecurityState, 'disableUIOverHttp' | 'disableUIOverHttps'> };
  site: ConsoleSite;
  sessions: Sessions;
}

export function uiRoutes(deps: UiDeps): BoundRoute[] {
  return [
    ...[GetRoot, GetPublishedPage].map((route) => bind(route, () => reply.empty(301, { Location: '/ui/' }))),
    bind(GetConsole, async (_, context) => {
      checkEnabled(deps, context);
      const answer = await deps.site.page('index', accepted(context));
      if (!answer) throw nodeRefusals.consoleNotBuilt();
      return fileReply(answer);
    }),
    bind(GetAsset, async ({ params }, context) => {
      checkEnabled(deps, context);
      const answer = await deps.site.asset(params['file'] ?? '', accepted(context));
      if (!answer) throw nodeRefusals.pageDisabled();
      return fileReply(answer);
    }),
    bind(OpenSession, (_, context) => {
      const { authorization } = context.headers;
      if (typeof authorization !== 'string') throw nodeRefusals.sessionWithoutPassword();
      return reply.empty(200, cookieHeader(deps.sessions.open(context.identity, authorization), context));
    }),
    bind(EndSession, (_, context) => {
      deps.sessions.end({ headers: context.headers, port: context.local.port });
      return reply.empty(200, cookieHeader(null, context));
    }),
  ];
}

function checkEnabled({ security }: UiDeps, { isTls }: Context): void {
  const { disableUIOverHttp, disableUIOverHttps } = security.state;
  if (isTls ? disableUIOverHttps : disableUIOverHttp) throw nodeRefusals.pageDisabled();
}

const cookieHeader = (token: string | null, { local, isTls }: Context) => ({
  'Set-Cookie': sessionCookie(token, { port: local.port, isTls }),
});

const accepted = ({ headers }: Context): string => String(headers['accept-encoding']);

const fileReply = ({ headers, bytes }: ConsoleAnswer): Reply => ({
  kind: 'bytes',
  status: 200,
  headers,
  source: onePart(bytes),
});

async function* onePart(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
