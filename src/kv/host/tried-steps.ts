// Steps of the desired state that may fail for long, such as the removal of files: the others are applied meanwhile, so that no deleted
// account stays admitted. At the end the first failure is thrown, and the manager sends the state again.

export class TriedSteps {
  private readonly failures: unknown[] = [];

  async try(step: Promise<void>): Promise<void> {
    await step.catch((error: unknown) => this.failures.push(error));
  }

  throwFirst(): void {
    if (this.failures.length > 0) throw this.failures[0];
  }
}
