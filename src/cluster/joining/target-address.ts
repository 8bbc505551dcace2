// The address of another node as callers write it: `https://db2.example.com:18091`, `10.0.0.2:8091`, `[::1]`.
import { urlHost } from '#base/host-and-port.ts';

export interface TargetAddress {
  /** Null: the caller named none; the port decides. */
  readonly scheme: 'http' | 'https' | null;
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

const defaultPorts = { http: 8091, https: 18091 };
const portMax = 65_535;

/** The address, or the published text of what is wrong with it. */
export function readTarget(sent: string): TargetAddress | { problem: string } {
  const text = sent.trim();
  const [, named = null, rest = ''] = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):\/\/)?(.*)$/s.exec(text) ?? [];
  const scheme = named?.toLowerCase() ?? null;
  if (scheme !== null && scheme !== 'http' && scheme !== 'https')
    return { problem: `Unsupported protocol ${scheme}` };
  const match = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::(\d{1,5}))?\/?$/.exec(rest);
  const port = Number(match?.[3] ?? defaultPorts[scheme ?? 'https']);
  if (match === null || port < 1 || port > portMax)
    return { problem: `Malformed URL ${text}; if using IPv6, enclose in square brackets` };
  return { scheme, host: (match[1] ?? match[2]) as string, port };
}

/** As texts show it: `https://10.0.0.2:18091`. */
export const shownTarget = ({ scheme, host, port }: TargetAddress): string =>
  `${scheme ?? 'https'}://${urlHost(host)}:${port}`;
