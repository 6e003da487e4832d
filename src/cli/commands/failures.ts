// `matoolkit failures`: the failed steps of a batch, grouped by error.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import { peopleText } from '../../domain/status.ts'
import { type CommandContext, sayRest } from '../command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, type Row, rowsIn } from '../terminal/show.ts'
import { batchPath } from './batch/paths.ts'
import { addVerb, BATCH_ARG } from './verb.ts'

const FAILURES: readonly Column[] = [
  ['COUNT', 'count'],
  ['PEOPLE', ({ people, count }) => peopleText(people as string[], Number(count)), 'whole'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['LAST SEEN', 'lastSeenAt', 'spare'],
  ['STEP ID', 'sample.stepId', 'spare'],
  ['ERROR', 'sample.message'],
]

export function addFailureCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'failures',
    about: 'list failures grouped by error',
    args: [BATCH_ARG],
    examples: ['failures 7', 'failures 7 --output json'],
    run: async (context, [id]) => {
      const { client, show } = context
      const { body } = await client.get<Row>(`${batchPath(id)}/failures`)
      const rows = rowsIn(body, 'groups')
      await show.list({
        whole: body as Json,
        rows,
        columns: FAILURES,
        empty: 'Nothing has failed.',
      })
      const all = `for every step: batch steps ${id} --status failed,poll_timeout --all`
      sayRest(context, rows.length, Number(body.groupCount), `largest groups first; ${all}`)
      if (show.format === 'table') sayRestOfPeople(context, id!, rows)
      if (rows.length > 0 && show.format === 'table') await sayWayOut(context, id!, rows[0]!)
    },
  })
}

/** The command for each group of which not everybody is named. */
function sayRestOfPeople({ show }: CommandContext, id: string, groups: readonly Row[]): void {
  for (const { stepName, phaseName, people, count } of groups) {
    if (phaseName === null || (people as string[]).length >= Number(count)) continue
    const filter = `--failed-phase ${String(phaseName)} --failed-step ${String(stepName)}`
    show.say(`Everybody who failed there: matoolkit batch members ${id} ${filter} --all`)
  }
}

/** What the API would accept for the largest group now, by its newest failure. */
async function sayWayOut({ client, show }: CommandContext, id: string, group: Row): Promise<void> {
  const { memberId } = group.sample as Row
  const fixed = 'When the cause is fixed, run: matoolkit'
  if (memberId === null) return show.say(`${fixed} batch restart ${id}`)
  const { body } = await client.get<Row>(`${batchPath(id)}/members/${Number(memberId)}`)
  const [way] = rowsIn(body, 'actions').filter(({ action }) => action !== 'resume')
  if (way) {
    const ofGroup = `--failed-step ${String(group.stepName)}`
    show.say(`${fixed} ${String(way.command).replace(/--member \S+/, ofGroup)}`)
  }
  show.say(`For every way out of one person: matoolkit member show ${id} id:${Number(memberId)}`)
}
