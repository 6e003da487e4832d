// `npm run simulate`: the seeded world of test/proof/simulation, as many seeds as wanted. `--help` says what can be asked.
import { main } from '../test/proof/simulation/main.ts'

process.exit(await main(process.argv.slice(2)))
