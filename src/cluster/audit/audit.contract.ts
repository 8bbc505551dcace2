// Routes of the audit log's settings and of its events.
import { integerOf } from '#base/decimal.ts';
import { type Field, field, filledForm } from '#contract/fields.ts';
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { auditSettingsShape } from '../settings/settings.shapes.ts';
import { type AuditEvent, auditEvents } from './audit-events.ts';
import type { AuditSettings } from './audit-settings.ts';

const read: Access = { kind: 'permission', permission: 'cluster.admin.security!read' };
const write: Access = { kind: 'permission', permission: 'cluster.admin.security!write' };

const intervalSeconds = { min: 15 * 60, max: 7 * 86_400 };
const sizeMax = 500 * 1024 * 1024;

/** Seconds; the texts of both refusals are the published ones. */
function interval(): Field<number | undefined> {
  const integer = field
    .integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
    .refine(
      (value) => value >= intervalSeconds.min && value <= intervalSeconds.max,
      'The value must be in range from 15 minutes to 7 days',
    )
    .refine((value) => value % 60 === 0, 'Value must not be a fraction of minute');
  return integer.optional();
}

export const optionalEvents = auditEvents.filter(({ isOptional }) => isOptional);

export const GetAudit = defineRoute({
  id: 'audit.read',
  method: 'GET',
  path: '/settings/audit',
  access: read,
  answer: { json: auditSettingsShape },
  doc: 'What the audit log records, and where.',
});

export const ChangeAudit = defineRoute({
  id: 'audit.change',
  method: 'POST',
  path: '/settings/audit',
  access: write,
  bodyKind: 'form',
  body: filledForm({
    auditdEnabled: field.boolean().optional(),
    logPath: field.text().optional(),
    rotateInterval: interval(),
    rotateSize: field.integer(0, sizeMax).optional(),
    disabled: field.text().optional(),
    disabledUsers: field.text().optional(),
  }),
  acceptsJustValidate: true,
  doc: 'Changes the sent parameters: on or off, the folder, rotation, and the optional events and users that are not logged.',
});

const descriptors = shape.array(
  shape.object({ id: shape.integer, ...shape.each(shape.string, 'name', 'module', 'description') }),
);

export const GetAuditDescriptors = defineRoute({
  id: 'audit.descriptors',
  method: 'GET',
  path: '/settings/audit/descriptors',
  access: read,
  answer: { json: descriptors },
  doc: 'The events that can be excluded from the audit log.',
});

export const GetFixedDescriptors = defineRoute({
  id: 'audit.fixed_descriptors',
  method: 'GET',
  path: '/settings/audit/nonFilterableDescriptors',
  access: read,
  answer: { json: descriptors },
  doc: 'The events that are always in the audit log while it is on.',
});

export const shownDescriptor = ({ id, name, description, module = 'ns_server' }: AuditEvent) => ({
  id,
  name,
  module,
  description,
});

export const shownAudit = (settings: AuditSettings, folder: string) => ({
  disabled: settings.disabled,
  uid: settings.uid,
  auditdEnabled: settings.auditdEnabled,
  disabledUsers: settings.disabledUsers,
  logPath: folder,
  rotateInterval: settings.rotateInterval,
  rotateSize: settings.rotateSize,
});

/** Numbers separated by commas; or the reason of the refusal. */
export function readDisabled(sent: string): { ids: number[] } | { problem: string } {
  const ids = sent
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(integerOf);
  if (ids.includes(null)) return { problem: "All event id's must be integers" };
  const unrecognized = ids.filter((id) => !optionalEvents.some((event) => event.id === id));
  if (unrecognized.length === 0) return { ids: [...new Set(ids as number[])].sort((a, b) => a - b) };
  return { problem: `Following events are either unknown or not modifiable: ${unrecognized.join(',')}` };
}
