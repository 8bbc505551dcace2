// A version of a document as JSON shows it. Apart from the search, whose code the main thread of a node does not need.
import { exactJson } from '#base/exact-json.ts';
import type { ExaminedVersion } from './examine.ts';

/** The version with the value itself: `JSON.stringify` writes its numbers with the digits of the document. */
export const shownVersion = (version: ExaminedVersion) => ({ ...version, value: exactJson(version.value) });
