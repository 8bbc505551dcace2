// A version of a document as JSON shows it. Apart from the search, whose code the main thread of a node does not need.
import type { ExaminedVersion } from './examine.ts';

type ShownVersion = Omit<ExaminedVersion, 'metadata'> & { readonly metadata: object };

/** The JSON text of the version. The text of the value is inserted unparsed: the main thread of a node would take seconds to parse the largest. */
export const versionJson = ({ value, metadata, ...others }: ShownVersion): string =>
  `${JSON.stringify(others).slice(0, -1)},"value":${value},"metadata":${JSON.stringify(metadata)}}`;
