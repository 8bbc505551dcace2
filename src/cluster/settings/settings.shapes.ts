// Schemas of the answers to reads of settings.
import { shape } from '#contract/json-schema.ts';

const { object, each, array, string, integer, boolean } = shape;

export const alertsShape = object({
  ...each(array(string), 'recipients', 'alerts', 'pop_up_alerts'),
  sender: string,
  enabled: boolean,
  emailServer: object({ ...each(string, 'user', 'pass', 'host'), port: integer, encrypt: boolean }),
});

export const alertLimitsShape = object({
  ...each(integer, 'maxOverheadPerc', 'maxDiskUsedPerc', 'maxIndexerRamPerc'),
  ...each(integer, 'memoryNoticeThreshold', 'memoryWarningThreshold', 'memoryCriticalThreshold'),
});

export const autoFailoverShape = object(
  { enabled: boolean, timeout: integer, count: integer },
  {
    failoverOnDataDiskIssues: object({ enabled: boolean, timePeriod: integer }),
    maxCount: integer,
    canAbortRebalance: boolean,
    failoverServerGroup: boolean,
  },
);

export const autoReprovisionShape = object({ enabled: boolean, max_nodes: integer, count: integer });

export const failoverShape = object({ preserveDurableMutations: boolean });

export const indexSettingsShape = object({
  ...each(boolean, 'redistributeIndexes', 'enablePageBloomFilter'),
  ...each(integer, 'numReplica', 'indexerThreads', 'memorySnapshotInterval', 'stableSnapshotInterval'),
  maxRollbackPoints: integer,
  ...each(string, 'logLevel', 'storageMode'),
});

export const passwordPolicyShape = object({
  minLength: integer,
  ...each(boolean, 'enforceUppercase', 'enforceLowercase', 'enforceDigits', 'enforceSpecialChars'),
});

export const statsSettingsShape = object({ sendStats: boolean });

export const webSettingsShape = object({ port: integer, username: string });

export const ldapShape = object(
  {
    ...each(boolean, 'authenticationEnabled', 'authorizationEnabled', 'serverCertValidation'),
    ...each(boolean, 'nestedGroupsEnabled', 'failOnMaxDepth'),
    nestedGroupsMaxDepth: integer,
    hosts: array(string),
    ...each(
      integer,
      'port',
      'requestTimeout',
      'maxParallelConnections',
      'maxCacheSize',
      'cacheValueLifetime',
    ),
    encryption: shape.oneOf('None', 'StartTLSExtension', 'TLS'),
    userDNMapping: shape.record(string),
    ...each(string, 'bindDN', 'bindPass'),
    bindMethod: shape.oneOf('Simple', 'SASL_EXTERNAL'),
  },
  each(string, 'cacert', 'groupsQuery', 'clientTLSCert', 'clientTLSKey'),
);

export const auditSettingsShape = object({
  disabled: array(integer),
  auditdEnabled: boolean,
  disabledUsers: array(object(each(string, 'name', 'domain'))),
  ...each(string, 'uid', 'logPath'),
  ...each(integer, 'rotateInterval', 'rotateSize'),
});
