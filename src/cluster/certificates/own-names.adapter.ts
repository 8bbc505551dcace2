// Names and addresses that clients may reach this machine by.
import { hostname, networkInterfaces } from 'node:os';

/** A node that listens on one address only is not reached by the machine's others. */
export function ownNames(listenHost: string): string[] {
  if (listenHost !== '0.0.0.0' && listenHost !== '::') return [listenHost];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  // Link-local addresses carry a zone that no certificate can name.
  const reachable = addresses.filter(({ address }) => !address.startsWith('fe80:'));
  return [hostname(), ...reachable.map(({ address }) => address)];
}
