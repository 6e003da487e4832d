// The process through which people and the scheduler reach the engine. It can crash like any other and is then replaced.
import { makeProcess } from './process.ts'
import { connect, type World } from './world.ts'

export function startOffice(world: World): void {
  const process = makeProcess('office')
  world.office = { process, engine: connect(world, process).engine }
}
