// What has to be closed when the tests of a process are over, whichever of its files opened it.
import { after } from 'node:test'

const closing: (() => Promise<unknown>)[] = []
after(() => Promise.all(closing.map((close) => close())))

export function atEnd(close: () => Promise<unknown>): void {
  closing.push(close)
}
