// What failed in a batch, with people and the commands that help: after a watch, below what is stuck, and below the failures.
import type { Answer } from '../../api/client/endpoints.ts'
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import type { ErrorMeaning } from '../../domain/needs/error-meaning.ts'
import { peopleText } from '../../domain/needs/failures.ts'
import { remedyText } from '../../domain/needs/remedy.ts'
import type { CommandContext } from '../program/command-context.ts'
import { namedBatch } from './batch/named.ts'

export type ShownFailure = Answer<'GET /api/batches/{batchId}/failures'>['groups'][number]

const GROUPS_TOLD = 3
const MESSAGE_CHARS = 200

type Shown = Pick<CommandContext, 'io' | 'show'>

/** Prints nothing when nobody failed. */
export async function sayFailures(
  context: Shown & Pick<CommandContext, 'client'>,
  id: string,
): Promise<void> {
  if (context.show.format !== 'table') return
  const params = namedBatch(id)
  const { groups } = await context.client.call('GET /api/batches/{batchId}/failures', { params })
  for (const group of groups.slice(0, GROUPS_TOLD)) {
    const message = group.sample.message.split('\n')[0]!.slice(0, MESSAGE_CHARS)
    context.show.say(printable(`\n${headOf(group)}: ${message}`), 'red')
    sayActions(context, group)
  }
  const more = groups.length - GROUPS_TOLD
  if (more > 0) context.show.say(`\nAnd ${countText(more, 'more cause')}: matoolkit failures ${id}`)
}

/** What the API would accept for each of the first groups. */
export function sayNextCommands({ io, show }: Shown, groups: readonly ShownFailure[]): void {
  for (const group of groups.slice(0, GROUPS_TOLD)) {
    const isTold = group.actions.length > 0 || !isNamed(group) || Boolean(group.meaning)
    if (show.format !== 'table' || !isTold) continue
    show.say(printable(`\n${headOf(group)}. What you can do now:`))
    sayActions({ io, show }, group)
  }
}

export function sayMeaning(
  show: CommandContext['show'],
  meaning: ErrorMeaning | null | undefined,
): void {
  if (!meaning) return
  show.say(printable(`  ${meaning.means}`))
  show.say(printable(`  ${remedyText(meaning)}`))
}

const isNamed = ({ people, count }: ShownFailure): boolean => people.length >= count

/** `3 people failed at prepare / archive` */
function headOf({ phaseName, stepName, people, count }: ShownFailure): string {
  const place = phaseName === null ? stepName : `${phaseName} / ${stepName}`
  if (people.length === 0) return `${place} failed`
  return `${countText(count, 'person', 'people')} failed at ${place}`
}

/** A command stays on its line, however long: it is there to be copied. */
function sayActions({ io, show }: Shown, group: ShownFailure): void {
  const ways = group.actions.map(({ about, command }) => [about, command] as const)
  if (group.people.length > 0) show.say(printable(`  ${peopleText(group.people, group.count)}`))
  sayMeaning(show, group.meaning)
  const all = `list all ${group.count}`
  const rest = isNamed(group) || group.people.length === 0 ? [] : [[all, group.list] as const]
  for (const [about, command] of [...ways, ...rest]) {
    show.say(printable(`  ${about}:`))
    io.out(printable(`    matoolkit ${command}`))
  }
}
