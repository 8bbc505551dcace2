// The error of a backup, a restore or another command on an archive, whose text tells the user what is wrong: in the archive, in the
// options, on a node or on the way to it.

export class ArchiveError extends Error {
  override name = 'ArchiveError';
  /** The text suffices: commands print it without a stack. */
  readonly explained = true;
}
