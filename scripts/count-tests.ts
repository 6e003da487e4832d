// A reporter that only counts: the numbers of the whole run as one line of JSON.
import type { TestEvent } from 'node:test/reporters'

export default async function* countTests(events: AsyncIterable<TestEvent>) {
  for await (const event of events) {
    if (event.type === 'test:summary' && event.data.file === undefined)
      yield JSON.stringify(event.data.counts)
  }
}
