// Parses the form that starts the collection of support bundles. A refusal names every problem of the form.
import { isAbsolute } from 'node:path';
import { fieldText } from '#contract/field-text.ts';
import type { Form } from '#contract/route.ts';
import { Problems } from '../forms/problems.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import { type RedactionLevel, redactionLevels } from './log-collection.contract.ts';

export interface CollectionForm {
  /** Names of nodes of the cluster. */
  nodes: readonly string[];
  /** The folder for the bundles; null: each node uses its default folder. */
  logDir: string | null;
  redaction: RedactionLevel;
  /** Hashed with the redacted values; null: a random salt, the same on all nodes. */
  salt: string | null;
  auditLog: boolean;
}

/** What the form is checked against. */
export interface FormFacts {
  /** The nodes of the cluster. */
  otpNodes: readonly string[];
  isEnterprise: boolean;
  /** The redaction level for requests that name none. */
  redaction: RedactionLevel;
}

const saltBytesMax = 1_000;
const noUpload = 'bundles are not uploaded in this version; leave it out and send the file yourself';

export function readCollectionForm(form: Form, facts: FormFacts): CollectionForm {
  const problems = new Problems();
  for (const name of Object.keys(form))
    if (!Object.hasOwn(checks, name)) problems.add(name, fieldText.unsupported);
  for (const [name, check] of Object.entries(checks)) {
    const sent = form[name];
    const problem = sent === undefined ? null : check(sent, facts);
    if (problem !== null) problems.add(name, problem);
  }
  if (form['nodes'] === undefined) problems.add('nodes', noNode);
  const level = (form['logRedactionLevel'] ?? facts.redaction) as RedactionLevel;
  if (form['logRedactionSalt'] !== undefined && level === 'none')
    problems.add('logRedactionSalt', 'log redaction level must be partial if salt is given');
  if (problems.any) throw settingsRefusals.invalidCollection(problems.fields);
  return {
    nodes: form['nodes'] === '*' ? facts.otpNodes : namesIn(form['nodes'] ?? ''),
    logDir: form['logDir'] ?? null,
    redaction: level,
    salt: form['logRedactionSalt'] ?? null,
    auditLog: form['auditLog'] === 'true',
  };
}

const noNode = 'Please select at least one node.';

/** The problem with a field, null if there is none. */
type Check = (sent: string, facts: FormFacts) => string | null;

const namesIn = (sent: string): string[] => sent.split(',').filter((name) => name !== '');

const folder: Check = (sent) =>
  isAbsolute(sent) && !sent.includes('\0') ? null : 'Must be an absolute path';
const flag: Check = (sent) => (['true', 'false'].includes(sent) ? null : fieldText.oneOf(['true', 'false']));
const refused: Check = () => noUpload;

const checks: Readonly<Record<string, Check>> = {
  nodes(sent, { otpNodes }) {
    const names = namesIn(sent);
    if (names.length === 0) return noNode;
    const unknown = sent === '*' ? [] : names.filter((name) => !otpNodes.includes(name));
    return unknown.length === 0 ? null : `Unknown nodes: ${JSON.stringify(unknown)}`;
  },
  logDir: folder,
  // Published clients send it; here it has no effect.
  tmpDir: folder,
  logRedactionLevel(sent, { isEnterprise }) {
    if (!redactionLevels.some((level) => level === sent)) return 'log redaction should be none or partial';
    return isEnterprise ? null : 'log redaction is an enterprise only feature';
  },
  logRedactionSalt: (sent) =>
    sent !== '' && Buffer.byteLength(sent) <= saltBytesMax
      ? null
      : `must be a string of 1 to ${saltBytesMax} bytes`,
  auditLog: flag,
  // No effect, since nothing is uploaded.
  bypassReachabilityChecks: flag,
  uploadHost: refused,
  uploadProxy: refused,
  customer: refused,
  ticket: refused,
  encryptionPassword: () => 'bundles are not encrypted in this version; leave it out',
};
