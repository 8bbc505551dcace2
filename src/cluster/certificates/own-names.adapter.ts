// Names and addresses under which clients may reach this machine.
import { hostname, networkInterfaces } from 'node:os';

/** A node that listens on one address only is not reachable at the machine's others. */
export function ownNames(listenHost: string): string[] {
  if (listenHost !== '0.0.0.0' && listenHost !== '::') return [listenHost];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  // Link-local addresses have a zone that certificates cannot contain.
  const reachable = addresses.filter(({ address }) => !address.startsWith('fe80:'));
  return [hostname(), ...reachable.map(({ address }) => address)];
}
