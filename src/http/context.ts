// What a handler knows about a request's sender and connection.
import type { IncomingMessage } from 'node:http';
import type { Caller } from '#auth/authority.ts';
import { parsePermission } from '#auth/permission.ts';
import { plainAddress } from '#base/address.ts';
import { assert } from '#base/assert.ts';
import { urlHost } from '#base/host-and-port.ts';
import type { Context } from '#contract/route.ts';
import type { RequestEnd } from './request-end.ts';

export function contextOf(
  request: IncomingMessage,
  caller: Caller,
  options: { isProvisioned: boolean; end: Pick<RequestEnd, 'signal'> },
): Context {
  const socket = request.socket;
  const address = plainAddress(socket.localAddress ?? '127.0.0.1');
  return {
    identity: caller.identity,
    may: (text) => !options.isProvisioned || permits(caller, text),
    host: hostName(request.headers.host) ?? urlHost(address),
    local: { address, port: socket.localPort ?? 0 },
    remoteAddress: remoteAddress(request),
    isTls: 'encrypted' in socket && socket.encrypted === true,
    headers: request.headers,
    get signal() {
      return options.end.signal;
    },
  };
}

export const remoteAddress = (request: IncomingMessage): string =>
  plainAddress(request.socket.remoteAddress ?? '');

function permits(caller: Caller, text: string): boolean {
  const permission = parsePermission(text);
  assert(permission, `malformed permission ${text}`);
  return caller.permits(permission);
}

/** The name in a Host header, without port; IPv6 stays in brackets. Null for anything but a name or an address. */
function hostName(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (header !== lastHost.header) {
    const name = /^([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?$/.exec(header)?.[1] ?? null;
    lastHost = { header, name };
  }
  return lastHost.name;
}

/** Nearly all requests name the same host. */
let lastHost: { readonly header: string; readonly name: string | null } = { header: '', name: null };
