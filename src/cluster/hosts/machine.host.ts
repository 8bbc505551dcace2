// The implementations of the manager's ports on a real machine.

import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { rest } from '#client/rest.adapter.ts';
import { type Clock, realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { SmtpMailer } from '../alerts/smtp.adapter.ts';
import { FolderAudit } from '../audit/audit-file.adapter.ts';
import { FolderCertificates } from '../certificates/certificate-files.adapter.ts';
import { RealPassphraseSources } from '../certificates/hosts/passphrase-sources.host.ts';
import { FolderInbox } from '../certificates/inbox.adapter.ts';
import { issue } from '../certificates/issue.ts';
import { FolderJournal } from '../events/journal.adapter.ts';
import { portProblem } from '../joining/port-problem.adapter.ts';
import { callRemote } from '../joining/remote-node.adapter.ts';
import { LdapServer } from '../ldap/ldap.adapter.ts';
import { FolderBundles } from '../log-collection/bundle-files.adapter.ts';
import type { MachinePorts } from '../manager-options.ts';
import type { ProcessFigures } from '../metrics/machine-metrics.ts';
import { Machine, memoryLimit } from '../nodes/adapters/machine.adapter.ts';
import { OsEnvironment } from '../provisioning/adapters/os-environment.adapter.ts';

export function machinePorts(options: {
  dataFolder: string;
  listenHost: string;
  /** The address from which this node connects to others; undefined: the system selects one. */
  localAddress?: string | undefined;
  clock: Clock;
  log: Log;
}): MachinePorts {
  const { dataFolder, listenHost, localAddress, clock, log } = options;
  const startedSeconds = Math.round(clock.wallMs() / 1000 - process.uptime());
  return {
    system: new Machine(dataFolder, () => clock.monotonicMs()),
    environment: new OsEnvironment(listenHost),
    certificateFiles: new FolderCertificates(join(dataFolder, 'certificates')),
    inbox: new FolderInbox(join(dataFolder, 'inbox')),
    passphrases: new RealPassphraseSources(join(dataFolder, 'scripts')),
    issue,
    callRemote: (call) => callRemote({ ...call, localAddress }),
    callTarget: rest,
    portProblem,
    directoryServer: (trusted) => new LdapServer({ trusted, clock: realClock }),
    bundleFiles: new FolderBundles(dataFolder),
    mailer: (trusted) => new SmtpMailer({ trusted }),
    auditFile: new FolderAudit(() => clock.wallMs()),
    journal: (name, bounds) =>
      new FolderJournal(join(dataFolder, 'events'), name, bounds, (damage) =>
        log.error('events.damaged', { ...damage }),
      ),
    ownNames: nodeNames(listenHost),
    memoryBytes: memoryLimit,
    process: () => ({ ...processFigures(), startedSeconds }),
    managerBytes: () => {
      const { used_heap_size, external_memory } = getHeapStatistics();
      return used_heap_size + external_memory;
    },
  };
}

function processFigures(): Omit<ProcessFigures, 'startedSeconds'> {
  const { userCPUTime, systemCPUTime, minorPageFault, majorPageFault } = process.resourceUsage();
  return {
    userSeconds: userCPUTime / 1e6,
    systemSeconds: systemCPUTime / 1e6,
    residentBytes: process.memoryUsage.rss(),
    minorFaults: minorPageFault,
    majorFaults: majorPageFault,
  };
}

/** The names under which clients reach the node: of a node that listens on one address only, this address. */
function nodeNames(listenHost: string): string[] {
  if (listenHost !== '0.0.0.0' && listenHost !== '::') return [listenHost];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  // Link-local addresses have a zone that certificates cannot contain.
  const reachable = addresses.filter(({ address }) => !address.startsWith('fe80:'));
  return [hostname(), ...reachable.map(({ address }) => address)];
}
