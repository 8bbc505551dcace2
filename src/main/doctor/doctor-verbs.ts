// `divan doctor`: what keeps a node from running well on this machine, and what to do.
import { holderOf } from '#ports/folder-lock.ts';
import { httpUrl } from '../cloud-options.ts';
import { ExitStatus } from '../exit-status.ts';
import { nodeOptions, portNames } from '../node-options.ts';
import type { OptionSpecs } from '../options.ts';
import { release } from '../release.ts';
import { jsonFlag } from '../remote/common-options.ts';
import { verb } from '../remote/verb.ts';
import { counted } from '../terminal.ts';
import { checkClock } from './check-clock.ts';
import { checkDisk } from './check-disk.ts';
import { checkPorts } from './check-ports.ts';
import { checkSystem } from './check-system.ts';
import { type Finding, good } from './finding.ts';

const portOptions: OptionSpecs = Object.fromEntries(
  Object.entries(nodeOptions).filter(([name]) => portNames.includes(name)),
);

const signs = { good: 'ok', warning: 'warning', problem: 'PROBLEM' } as const;
/** The columns of the text, in characters; each is followed by two blanks. */
const signWidth = 7;
const checkWidth = 14;
/** Advice begins two columns to the right of the finding. */
const adviceIndent = ' '.repeat(signWidth + 2 + checkWidth + 2 + 2);

export const doctorVerbs = [
  verb(
    '',
    'checks this machine, not a running node: versions, limits, memory, the disk of the data folder, whether the ports are free, the clock; says what is wrong and what to do',
    {
      'data-dir': nodeOptions['data-dir'],
      host: nodeOptions.host,
      ...portOptions,
      peer: {
        kind: httpUrl('http://192.168.0.2:8091'),
        doc: 'another node of the cluster, whose clock is compared with that of this machine',
      },
      json: jsonFlag,
    },
    async (options) => {
      const dataDir = options['data-dir'] as string;
      const values = options as unknown as Record<string, number>;
      const ports = portNames.map((option) => ({ option, port: values[option] as number }));
      const findings: Finding[] = [
        good('version', `Divan ${release}`),
        ...checkSystem(),
        ...checkDisk(dataDir),
        ...(await checkPorts(options.host as string, ports, holderOf(dataDir))),
        ...(await checkClock(options.peer as string | undefined)),
      ];
      if (findings.some(({ state }) => state === 'problem')) process.exitCode = ExitStatus.failure;
      return { value: findings, text: textOfFindings(findings) };
    },
  ),
];

function textOfFindings(findings: readonly Finding[]): string {
  const lines = findings.map(({ check, state, text, advice }) => {
    const first = `${signs[state].padEnd(signWidth)}  ${check.padEnd(checkWidth)}  ${text}`;
    return advice === undefined ? first : `${first}\n${adviceIndent}${advice}`;
  });
  const countOf = (wanted: Finding['state']): string =>
    counted(findings.filter(({ state }) => state === wanted).length, wanted);
  return [...lines, `${countOf('problem')}, ${countOf('warning')}`].join('\n');
}
