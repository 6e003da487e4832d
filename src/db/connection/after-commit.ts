// What is to be told once a transaction has committed: a rolled-back one, a dry run included, tells nothing.

export class AfterCommit {
  readonly #acts: (() => void)[] = []

  readonly add = (act: () => void): void => {
    this.#acts.push(act)
  }

  readonly run = (): void => {
    for (const act of this.#acts) act()
  }
}
