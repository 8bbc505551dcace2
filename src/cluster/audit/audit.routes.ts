// Maps requests about auditing to the setting that holds it.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import { hexId, type Random } from '#ports/random.ts';
import type { Edition } from '../config/cluster-state.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import { Problems } from '../forms/problems.ts';
import * as contract from './audit.contract.ts';
import { auditEvents } from './audit-events.ts';
import type { AuditFile } from './audit-file.ts';
import type { AuditLog } from './audit-log.ts';
import type { AuditSettings, AuditUser } from './audit-settings.ts';

export interface AuditRoutesDeps {
  settings: WatchedSetting<AuditSettings>;
  log: AuditLog;
  file: AuditFile;
  edition: Edition;
  random: Random;
  /** Whether a local user or the administrator has this name; external users need not exist on the node. */
  isUser: (name: string) => boolean;
}

interface Sent {
  auditdEnabled: boolean | undefined;
  logPath: string | undefined;
  rotateInterval: number | undefined;
  rotateSize: number | undefined;
  disabled: string | undefined;
  disabledUsers: string | undefined;
}

export function auditRoutes(deps: AuditRoutesDeps): BoundRoute[] {
  const { settings, log, edition, random } = deps;
  const requireEnterprise = () => {
    if (edition !== 'enterprise') throw generalRefusals.enterpriseOnly();
  };
  const listed = (isOptional: boolean) => () => {
    requireEnterprise();
    const events = auditEvents.filter((event) => (event.isOptional ?? false) === isOptional);
    return reply.json(events.map(contract.shownDescriptor));
  };
  return [
    bind(contract.GetAudit, () => {
      requireEnterprise();
      return reply.json(contract.shownAudit(settings.value, log.folder));
    }),
    bind(contract.ChangeAudit, async ({ body, justValidate }) => {
      requireEnterprise();
      const changes = await changesOf(body, deps);
      if (!justValidate) await settings.change((before) => ({ ...before, ...changes, uid: hexId(random) }));
      return reply.empty();
    }),
    bind(contract.GetAuditDescriptors, listed(true)),
    bind(contract.GetFixedDescriptors, listed(false)),
  ];
}

async function changesOf(sent: Sent, deps: AuditRoutesDeps): Promise<Partial<AuditSettings>> {
  const { auditdEnabled, logPath, rotateInterval, rotateSize } = sent;
  const problems = new Problems();
  const disabled = sent.disabled === undefined ? undefined : contract.readDisabled(sent.disabled);
  if (disabled && 'problem' in disabled) problems.add('disabled', disabled.problem);
  const users = sent.disabledUsers === undefined ? undefined : usersOf(sent.disabledUsers, deps, problems);
  const folderProblem = logPath === undefined ? null : await deps.file.problem(logPath);
  if (folderProblem !== null) problems.add('logPath', folderProblem);
  problems.refuseIfInvalid();
  return {
    ...(auditdEnabled !== undefined && { auditdEnabled }),
    ...(logPath !== undefined && { logPath }),
    ...(rotateInterval !== undefined && { rotateInterval }),
    ...(rotateSize !== undefined && { rotateSize }),
    ...(disabled && 'ids' in disabled && { disabled: disabled.ids }),
    ...(users && { disabledUsers: users }),
  };
}

/** `name/domain`, separated by commas. */
function usersOf(sent: string, { isUser }: AuditRoutesDeps, problems: Problems): AuditUser[] {
  const texts = sent
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const users = texts.map((text) => {
    const at = text.lastIndexOf('/');
    return { text, name: text.slice(0, at), domain: text.slice(at + 1) };
  });
  const isKnown = ({ name, domain }: AuditUser) =>
    name !== '' && (domain === 'external' || ((domain === 'local' || domain === 'admin') && isUser(name)));
  const unrecognized = users.filter((user) => !isKnown(user));
  if (unrecognized.length > 0)
    problems.add('disabledUsers', `Unrecognized users: ${unrecognized.map(({ text }) => text).join(',')}`);
  return users.map(({ name, domain }) => ({ name, domain }));
}
