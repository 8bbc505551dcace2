// Maps requests about security settings to the service. A path names a part of the settings or one key; a body is a form of keys, or
// the value itself if the path names a single key.

import { type BoundRoute, bind, type Form, type Params, reply } from '#contract/route.ts';
import { parseForm } from '#http/path.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import * as contract from './security.contract.ts';
import type { SecurityService, WantedValue } from './security.service.ts';
import { keyPath, readOnlyKey } from './security-keys.ts';

const stepsOf = ({ part, key }: Params): string[] => [part ?? '', ...(key === undefined ? [] : [key])];

export function securityRoutes(service: SecurityService, upload: contract.CertificateUpload): BoundRoute[] {
  const done = async (change: Promise<void>) => {
    await change;
    return reply.json([]);
  };
  const record = async () => contract.securityRecord(service, await upload.allowed());
  const read = async (params: Params) => reply.json(valueAt(await record(), stepsOf(params)));
  const set = (params: Params, body: Buffer) => done(service.set(valuesAtPath(stepsOf(params), body)));
  const reset = (params: Params) => done(service.reset(stepsOf(params)));
  return [
    bind(contract.GetSecurity, async () => reply.json(await record())),
    bind(contract.GetPart, ({ params }) => read(params)),
    bind(contract.GetKey, ({ params }) => read(params)),
    bind(contract.SetSecurity, ({ body }) => done(service.set(valuesOfForm(body, [])))),
    bind(contract.SetPart, ({ params, body }) => set(params, body)),
    bind(contract.SetKey, ({ params, body }) => set(params, body)),
    bind(contract.ResetSecurity, () => {
      throw settingsRefusals.resetNotSupported();
    }),
    bind(contract.ResetPart, ({ params }) => reset(params)),
    bind(contract.ResetKey, ({ params }) => reset(params)),
  ];
}

function valueAt(record: unknown, steps: readonly string[]): unknown {
  let at = record;
  for (const step of steps) {
    if (typeof at !== 'object' || at === null || Array.isArray(at) || !Object.hasOwn(at, step))
      throw settingsRefusals.noSuchPart();
    at = (at as contract.SecurityRecord)[step];
  }
  return at;
}

function valuesAtPath(steps: readonly string[], body: Buffer): WantedValue[] {
  const text = body.toString('utf8');
  if (steps.at(-1) === readOnlyKey) return [{ steps, sent: text }];
  const path = keyPath(steps);
  if (!path) throw settingsRefusals.noSuchPart();
  return path.key ? [{ steps, sent: text }] : valuesOfForm(parseForm(text), steps);
}

const valuesOfForm = (form: Form, under: readonly string[]): WantedValue[] =>
  Object.entries(form).map(([name, sent]) => ({ steps: [...under, ...name.split('.')], sent }));
