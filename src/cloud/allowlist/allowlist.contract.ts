// The allowlist of a cluster: the addresses from which it accepts connections.
import { z } from 'zod';
import { isAddressRange, rangeIdentity } from '#ports/address-ranges.ts';
import { component, dateOf, dateTime, oneOf, text } from '../answers/component.ts';
import { defineOperation } from '../http/operation.ts';
import type { AllowlistRow } from '../store/tables.ts';
import { durationMs } from './duration.ts';

const commentMax = 1_024;
const durationMaxMs = 10 * 366 * 86_400_000;
export const entriesMax = 500;

const blockProblem = 'must be an IPv4 or IPv6 address or network such as 10.1.0.0/16';
const cidrBlock = () => z.string(blockProblem).refine(isAddressRange, blockProblem);

const duration = () =>
  text(2, 64).refine((value) => {
    const ms = durationMs(value);
    return ms !== null && ms >= 1_000 && ms <= durationMaxMs;
  }, 'must be a time such as 1h0m0s, from one second to ten years');

const requiredFields = { cidrBlock: cidrBlock(), ruleType: oneOf(['temporary', 'permanent']) };
const optionalFields = { comment: text(0, commentMax).optional(), duration: duration().optional() };

const durationFitsType = (entry: { ruleType: string; duration?: string | undefined }): boolean =>
  (entry.ruleType === 'temporary') === (entry.duration !== undefined);
const durationRule = { path: ['duration'], error: 'must be given with a temporary entry, and with no other' };

export const appendAllowListRequest = component('AppendAllowListRequest', {
  ...requiredFields,
  ...optionalFields,
}).refine(durationFitsType, durationRule);

/** Clients may send back a list that they read: times and states are accepted and ignored. */
const replacement = z
  .strictObject({
    ...requiredFields,
    ...optionalFields,
    createdAt: z.string().optional(),
    expiresAt: z.string().optional(),
    updatedAt: z.string().optional(),
    state: z.string().optional(),
  })
  .refine(durationFitsType, durationRule);

export const updateAllowListRequest = z
  .array(replacement, 'must be a list of entries')
  .max(entriesMax, `must have at most ${entriesMax} entries`)
  .refine(
    (list) => new Set(list.map(({ cidrBlock: block }) => rangeIdentity(block))).size === list.length,
    'must name each cidrBlock once, in whatever spelling',
  )
  .meta({ id: 'UpdateAllowListRequest' });

export type EntryRequest = z.output<typeof appendAllowListRequest>;

const entrySchema = component('AllowListEntry', {
  cidrBlock: z.string(),
  ruleType: z.enum(['temporary', 'permanent']),
  state: z.enum(['active', 'pending', 'failed', 'expired']),
  createdAt: dateTime(),
  updatedAt: dateTime(),
  duration: z.string().optional(),
  expiresAt: dateTime().optional(),
  comment: z.string().optional(),
});

const path = '/v2/clusters/{id}/allowlist';
const shared = { access: 'token', subject: 'cluster', malformedId: 422, path } as const;

export const ListAllowlist = defineOperation({
  ...shared,
  id: 'clusters/get-allowlist',
  method: 'GET',
  doc: 'All addresses and networks from which the cluster accepts connections, in the order they were added.',
  query: z.strictObject({}),
  replies: {
    200: { doc: 'The allowlist', body: z.array(entrySchema).meta({ id: 'ListAllowListResponse' }) },
  },
});

export const AppendAllowlist = defineOperation({
  ...shared,
  id: 'clusters/create-allowlist-entry',
  method: 'POST',
  doc: 'Adds an entry, or replaces one that has expired. A list of 500 entries drops those that expired first.',
  body: appendAllowListRequest,
  replies: { 202: { doc: 'Accepted' } },
});

export const ReplaceAllowlist = defineOperation({
  ...shared,
  id: 'clusters/update-allowlist',
  method: 'PUT',
  doc: 'Replaces the whole list. A temporary entry with the same duration keeps its expiry time; an expired entry stays expired.',
  body: updateAllowListRequest,
  replies: { 202: { doc: 'Accepted' } },
});

export const DeleteAllowlistEntry = defineOperation({
  ...shared,
  id: 'clusters/delete-allowlist-entry',
  method: 'DELETE',
  doc: 'Removes the entry of a block; connections from there end.',
  body: component('DeleteAllowListEntryRequest', { cidrBlock: cidrBlock() }),
  replies: { 204: { doc: 'Removed' } },
});

export const entryReply = (row: AllowlistRow): z.output<typeof entrySchema> => ({
  cidrBlock: row.cidr,
  ruleType: row.duration === null ? 'permanent' : 'temporary',
  state: row.state as z.output<typeof entrySchema>['state'],
  createdAt: dateOf(row.created_at),
  updatedAt: dateOf(row.updated_at),
  ...(row.duration !== null && { duration: row.duration }),
  ...(row.expires_at !== null && { expiresAt: dateOf(row.expires_at) }),
  ...(row.comment !== null && { comment: row.comment }),
});
