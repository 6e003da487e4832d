// Microsoft's driver for SQL Server reads what the tests' server sends: each query of the arguments gives a line of
// JSON. `token: …` signs those after it in with a token.
#:package Microsoft.Data.SqlClient@2.1.4
#:property PublishAot=false
#:property NuGetAudit=false
#:property UseSharedCompilation=false
using System.Globalization;
using System.Text.Json;
using Microsoft.Data.SqlClient;

string? token = null;
foreach (var query in args.Skip(1))
{
    if (query.StartsWith("token: "))
    {
        token = query[7..];
        continue;
    }
    var rows = new List<object?[]>();
    var columns = new List<string>();
    var count = 0;
    try
    {
        using var connection = new SqlConnection(args[0]);
        if (token is not null) connection.AccessToken = token;
        connection.Open();
        using var command = new SqlCommand(query, connection) { CommandTimeout = 2 };
        using var reader = command.ExecuteReader();
        for (var at = 0; at < reader.FieldCount; at++)
            columns.Add($"{reader.GetName(at)} {reader.GetDataTypeName(at)}");
        while (reader.Read())
        {
            count++;
            if (count <= 2) rows.Add([.. Enumerable.Range(0, reader.FieldCount).Select(at => Text(reader.GetValue(at)))]);
        }
        var more = reader.NextResult();
        Console.WriteLine(JsonSerializer.Serialize(new { query, columns, rows, count, more }));
    }
    catch (SqlException error)
    {
        Console.WriteLine(JsonSerializer.Serialize(new { query, columns, rows, count, number = error.Number, message = error.Message }));
    }
}

static string? Text(object value) => value switch
{
    DBNull => null,
    byte[] bytes => Convert.ToBase64String(bytes),
    DateTime time => time.ToString("yyyy-MM-ddTHH:mm:ss.fffffff", CultureInfo.InvariantCulture),
    DateTimeOffset time => time.ToString("yyyy-MM-ddTHH:mm:ss.fffffffzzz", CultureInfo.InvariantCulture),
    IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
    _ => value.ToString(),
};
