// What ends a backup, a restore or another command on an archive. The text tells the user what is wrong: in the archive, in the options,
// on a node or on the way to it.

export class BackupError extends Error {
  override name = 'BackupError';
  /** The text suffices: commands print it without a stack. */
  readonly isExplained = true;
}

/** The bucket that the options name does not exist: in the backup, or on the node. */
export class MissingBucketError extends BackupError {}
