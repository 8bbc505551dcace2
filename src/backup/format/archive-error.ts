// An archive that cannot be read, or a task that cannot continue, with a reason for people.

export class ArchiveError extends Error {
  override name = 'ArchiveError';
  /** The text suffices: commands print it without a stack. */
  readonly explained = true;
}
