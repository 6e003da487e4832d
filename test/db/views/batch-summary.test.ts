// What a batch waits for, read from the heads of the queues; and the mark by which failures are known to be the same.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { listWaitGroups } from '../../../src/db/views/batch-summary.ts'
import { listWorkers } from '../../../src/db/views/workers.ts'
import { DATABASES, type TestDatabase } from '../../kit/databases.ts'
import { variants } from '../../kit/variants.ts'

const NOW = new Date('2026-03-02T08:00:00Z')
const at = (minute: number) =>
  `'2026-03-02T07:00:00Z'::timestamptz + ${minute} * interval '1 minute'`

for (const { kind, open } of variants(DATABASES)) {
  describe(`what a summary reads on ${kind}`, () => {
    let test: TestDatabase
    before(async () => {
      test = await open()
    })
    after(() => test.close())

    it('counts the heads of the queues up to a limit and reports it', async () => {
      await test.db.script(`
        insert into waits (step_id, batch_id, batch_member_id, worker_id, kind, priority, since)
          select n, 1, n, 'w1', 'slot', 1, ${at(1)} + n * interval '1 second' from generate_series(1, 1500) as n;
        insert into waits (step_id, batch_id, worker_id, kind, priority, since)
          select n, 2, 'w1', 'slot', 0, ${at(0)} from generate_series(3001, 3002) as n;
        insert into waits (step_id, batch_id, batch_member_id, worker_id, kind, priority, since, wake_at)
          select n, 1, n, 'w2', 'poll', 1, ${at(0)}, ${at(50)} + n * interval '1 minute' from generate_series(4001, 4003) as n;
        update waits set wake_at = ${at(55)} where step_id = 4001;
        insert into waits (step_id, batch_id, worker_id, kind, priority, since, wake_at, job_id)
          values (5001, 1, 'w3', 'job', 0, ${at(3)}, ${at(90)}, 'step-5001')`)
      const found = await listWaitGroups(test.db, 1, NOW)
      const minute = (date: Date | null) => date && (+date - Date.UTC(2026, 2, 2, 7)) / 60_000
      assert.deepEqual(
        found.map(({ since, wakeAt, ...rest }) => ({
          ...rest,
          since: minute(since),
          wakeAt: minute(wakeAt),
        })),
        [
          {
            workerId: 'w1',
            kind: 'slot',
            count: 1000,
            isCountExact: false,
            overdue: 0,
            stepId: 1,
            since: 1 + 1 / 60,
            wakeAt: null,
          },
          {
            workerId: 'w2',
            kind: 'poll',
            count: 3,
            isCountExact: true,
            overdue: 1,
            stepId: 4001,
            since: 0,
            wakeAt: 55,
          },
          {
            workerId: 'w3',
            kind: 'job',
            count: 1,
            isCountExact: true,
            overdue: 0,
            stepId: 5001,
            since: 3,
            wakeAt: 90,
          },
        ],
      )
      assert.deepEqual(await listWaitGroups(test.db, 9, NOW), [])
      const workers = await listWorkers(test.db)
      assert.deepEqual(
        workers.map(({ workerId, isKnown, waiting }) => [workerId, isKnown, waiting]),
        [['w1', false, 1502]],
      )
    })
  })
}
