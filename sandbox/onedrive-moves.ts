// OneDrives on their way to another tenant, told at the source. A move waits, starts, and is then beyond recall. What Microsoft leaves open
// is guessed and marked in docs/rehearsal.md: how a missing target shows, and what a second request for the same person answers.
import { domainOf } from './addresses.ts'
import type { OneDriveMove } from './state.ts'
import type { SandboxTenant } from './tenant.ts'
import type { World } from './world.ts'

/** Why the move cannot succeed; null when it can. */
export function oneDriveProblem(
  world: World,
  { targetUserPrincipalName: name }: Pick<OneDriveMove, 'targetUserPrincipalName'>,
): string | null {
  const target = world.tenant(domainOf(name))?.user(name)
  return target ? null : `The target user "${name}" does not exist in the target organization.`
}

/** Advances every move to the present. */
export function advanceOneDriveMoves(world: World, tenant: SandboxTenant, now: Date): void {
  for (const move of tenant.state.oneDriveMoves) while (advance(world, tenant, move, now));
}

function advance(world: World, tenant: SandboxTenant, move: OneDriveMove, now: Date): boolean {
  const { dueAt } = move
  if (dueAt === null || Date.parse(dueAt) > +now) return false
  if (move.status === 'notStarted') start(world, move, dueAt)
  else finish(world, tenant, move, dueAt)
  return true
}

function start(world: World, move: OneDriveMove, at: string): void {
  const isTooLate = move.latestStartAt !== null && Date.parse(move.latestStartAt) < Date.parse(at)
  move.status = isTooLate ? 'cancelled' : 'inProgress'
  move.startedAt = isTooLate ? null : at
  move.dueAt = isTooLate ? null : world.after(new Date(at), world.timing.mailboxMoveSyncSec)
  move.updatedAt = at
}

function finish(world: World, tenant: SandboxTenant, move: OneDriveMove, at: string): void {
  move.error = oneDriveProblem(world, move)
  move.status = move.error === null ? 'completed' : 'failed'
  Object.assign(move, { dueAt: null, finishedAt: at, updatedAt: at })
  const user = tenant.user(move.sourceUserPrincipalName)
  if (user && move.error === null)
    world.recordEvent(tenant, at, 'OneDrive moved', user, { to: move.targetUserPrincipalName })
}
