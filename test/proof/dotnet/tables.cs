// Npgsql reads every table as an analyst does: each value in the type that Npgsql gives it is compared with what PostgreSQL itself writes of it
// as JSON. One line of JSON per table, with every value that differs.
#:package Npgsql@10.0.0
#:property PublishAot=false
#:property NuGetAudit=false
#:property UseSharedCompilation=false
using System.Globalization;
using System.Text.Json;
using Npgsql;

await using var source = NpgsqlDataSource.Create(args[0]);
await using var connection = await source.OpenConnectionAsync();
await using var transaction = await connection.BeginTransactionAsync(System.Data.IsolationLevel.RepeatableRead);
var tables = new List<string>();
await using (var listed = await Query("select table_name::text from information_schema.tables where table_schema = current_schema() order by 1"))
    while (await listed.ReadAsync()) tables.Add(listed.GetString(0));

foreach (var table in tables)
{
    var rows = 0;
    var types = new SortedSet<string>(StringComparer.Ordinal);
    var differs = new List<string>();
    await using var reader = await Query($"select one.*, to_jsonb(one)::text from \"{table}\" one");
    for (var at = 0; at < reader.FieldCount; at++)
        types.Add($"{reader.GetDataTypeName(at)} {reader.GetFieldType(at).Name}");
    while (await reader.ReadAsync())
    {
        rows++;
        using var row = JsonDocument.Parse(reader.GetString(reader.FieldCount - 1));
        for (var at = 0; at < reader.FieldCount - 1; at++)
        {
            var value = reader.GetValue(at);
            var type = reader.GetDataTypeName(at);
            var expected = row.RootElement.GetProperty(reader.GetName(at));
            if (!IsSame(value, type, expected)) differs.Add($"{reader.GetName(at)}: {value} is {expected}");
        }
    }
    Console.WriteLine(JsonSerializer.Serialize(new { table, rows, types, differs }));
}

async Task<NpgsqlDataReader> Query(string sql) =>
    await new NpgsqlCommand(sql, connection, transaction).ExecuteReaderAsync();

static bool IsSame(object value, string type, JsonElement expected) => value switch
{
    DBNull => expected.ValueKind == JsonValueKind.Null,
    string json when type is "jsonb" or "json" => JsonElement.DeepEquals(JsonDocument.Parse(json).RootElement, expected),
    string text => expected.GetString() == text,
    bool yes => expected.GetBoolean() == yes,
    DateTime { Kind: DateTimeKind.Utc } time => DateTimeOffset.Parse(expected.GetString()!, CultureInfo.InvariantCulture) == time,
    Guid id => expected.GetGuid() == id,
    byte[] bytes => expected.GetString() == "\\x" + Convert.ToHexStringLower(bytes),
    short or int or long => expected.GetInt64() == Convert.ToInt64(value),
    float or double => expected.GetDouble() == Convert.ToDouble(value),
    decimal number => expected.GetDecimal() == number,
    Array list => expected.GetArrayLength() == list.Length
        && list.Cast<object>().Zip(expected.EnumerateArray()).All(pair => IsSame(pair.First, type, pair.Second)),
    _ => false,
};
