// Schemas of manifests.
import { shape } from '#contract/json-schema.ts';

const { object, array, string, integer, named } = shape;

const collection = object({ name: string, uid: string }, { maxTTL: integer });
const scope = object({ name: string, uid: string, collections: array(collection) });

export const manifestShape = named('Manifest', object({ uid: string, scopes: array(scope) }));
export const manifestUidShape = object({ uid: string });
