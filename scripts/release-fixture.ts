// Writes the mid-flight database and the messages of this release (version of package.json) to test/fixtures/releases, as a part of releasing:
// `node scripts/run.mjs scripts/release-fixture.ts`. Until a release is out its fixture may be written again; afterwards never.
import { readFileSync } from 'node:fs'
import { openTestPglite } from '../test/kit/databases.ts'
import { writeFixture, writeMessages } from '../test/stories/releases/fixture.ts'
import { reachMidFlight } from '../test/stories/releases/mid-flight.ts'
import { openWorld } from '../test/stories/world.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const world = await openWorld({ database: await openTestPglite() })
await reachMidFlight(world)
const file = await writeFixture(world.db, version, world.clock.now())
await world.close()
console.log(`Wrote ${file} and ${writeMessages(version)}`)
