// All settings in the order of the reference page, and the fields of answers that always have the same value.
import { auditParameters } from './audit-parameters.ts';
import { bucketParameters } from './bucket-parameters.ts';
import { clusterSettings } from './cluster-settings.ts';
import { ldapParameters } from './ldap-parameters.ts';
import { logParameters } from './log-parameters.ts';
import { securitySettings } from './security-settings.ts';
import type { SettingGroup } from './setting.ts';
import { xdcrParameters } from './xdcr-parameters.ts';

export const settingsCatalog: readonly SettingGroup[] = [
  bucketParameters,
  ...clusterSettings,
  ...securitySettings,
  ...ldapParameters,
  ...auditParameters,
  ...logParameters,
  ...xdcrParameters,
];

/** Fields that published clients look for and that are constants here, with their meaning. */
export const constantFields: readonly { field: string; where: string; value: string; meaning: string }[] = [
  {
    field: 'pitrEnabled, pitrGranularity, pitrMaxHistoryAge',
    where: 'bucket',
    value: '`false`, 600, 86400',
    meaning: 'there is no recovery to a point in time',
  },
  {
    field: 'authType, saslPassword',
    where: 'bucket',
    value: '`sasl`, empty',
    meaning: 'users have passwords, buckets do not',
  },
  {
    field: 'bucketCapabilitiesVer',
    where: 'bucket',
    value: 'empty',
    meaning: '`bucketCapabilities` lists what a bucket can do; the list has no version',
  },
  {
    field: 'otpCookie',
    where: '`/nodes/self`',
    value: 'empty',
    meaning: 'nodes have no shared secret of this kind',
  },
  {
    field: 'mcdMemoryReserved, mcdMemoryAllocated',
    where: 'node',
    value: '80 % of the memory',
    meaning: 'the memory that the data service can get; `mem_used` is what it uses',
  },
  {
    field: 'couch_views_*, couch_spatial_*, index_*',
    where: 'node',
    value: '0',
    meaning: 'files of views and indexes are not counted here',
  },
  {
    field: 'state, quotaMb',
    where: '`/nodes/self`, storage',
    value: '`ok`, `none`',
    meaning: 'a node whose folders fail does not start',
  },
  {
    field: 'isAdminCreds, isROAdminCreds',
    where: '`/pools`',
    value: '`true`, `false`',
    meaning: 'constants of the protocol; ask `/whoami` or `/pools/default/checkPermissions`',
  },
  {
    field: 'isDeveloperPreview, packageVariant',
    where: '`/pools`',
    value: '`false`, `npm`',
    meaning:
      'this version has no preview features; the npm package, the archive and the image have the same value',
  },
  {
    field: 'statusIsStale, masterRequestTimedOut',
    where: 'the task `rebalance`',
    value: '`false`, `false`',
    meaning: 'the node reads its tasks from its own copy of the configuration',
  },
  { field: 'rows', where: "a bucket's `ddocs`", value: 'empty', meaning: 'this version has no views' },
];
