// What is to be kept cannot be written, through no fault of who asked or of the product: its text is for the one who asked.

export class UnwritableError extends Error {
  override readonly name = 'UnwritableError';
}
