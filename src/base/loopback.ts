// Addresses that only this machine reaches.
import { plainAddress } from './address.ts';

export const isLoopback = (address: string): boolean =>
  address === '::1' || address === 'localhost' || /^127\.\d+\.\d+\.\d+$/.test(plainAddress(address));

/** The loopback addresses to listen on instead of `host` when only this machine may connect; `host` itself if it is loopback. */
export function loopbackHosts(host: string): string[] {
  if (isLoopback(host)) return [host];
  if (host === '::') return ['127.0.0.1', '::1'];
  return [host.includes(':') ? '::1' : '127.0.0.1'];
}
