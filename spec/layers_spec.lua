-- layers_spec.lua - checks that scripts/check-layers fails when it should.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local here = assert(io.popen "pwd"):read "l"

-- Checks folders of files that define and use functions: {["low/a"] = "b c"} is
-- a file with a function a that calls b and c. The source of `gone` is removed
-- again. The default layers are low, middle and high. `also` runs before the
-- check.
local function check(files, gone, layers, also)
  local output, good
  process.with_directory(function(dir)
    local lines = {"cd " .. dir}
    for path, uses in pairs(files) do
      local folder, name = path:match "^(.*)/(.-)$"
      local calls = uses:gsub("(%w+)", "int %1(void); ")
      local sum = uses:gsub("(%w+)", "+ %1()")
      lines[#lines + 1] = ("mkdir -p %s build/obj/%s"):format(folder, folder)
      lines[#lines + 1] = ("echo '%sint %s(void) { return 0 %s; }' >%s.c")
        :format(calls, name, sum, path)
      lines[#lines + 1] = ("cc -c -o build/obj/%s.o %s.c"):format(path, path)
    end
    if gone then lines[#lines + 1] = "rm " .. gone .. ".c" end
    lines[#lines + 1] = also
    lines[#lines + 1] = ("sh %s/scripts/check-layers build %s")
      :format(here, layers or "low middle high")
    local pipe = assert(io.popen("exec 2>&1; " .. table.concat(lines, "\n")))
    output = pipe:read "a"
    good = pipe:close()
  end)
  return good == true, output
end

describe("scripts/check-layers", function()
  it("lets a file use its own layer and the layers below", function()
    assert.is_true(check {["low/a"] = "", ["low/b"] = "a",
      ["middle/c"] = "a b", ["high/d"] = "c a"})
  end)

  it("finds a use of a layer above", function()
    local good, output = check {["low/a"] = "d", ["high/d"] = ""}
    assert.is_false(good)
    assert.matches("low/a uses d of high/d, above it", output, 1, true)
  end)

  it("lets at most three files use each other in a circle", function()
    assert.is_true(check {["low/a"] = "b", ["low/b"] = "c", ["low/c"] = "a"})
    local good, output = check {["low/a"] = "b", ["low/b"] = "c",
      ["low/c"] = "d", ["low/d"] = "a", ["low/e"] = "a"}
    assert.is_false(good)
    assert.matches("4 files use each other in a circle", output, 1, true)
    for name in ("abcd"):gmatch "." do
      assert.matches("low/" .. name, output, 1, true)
    end
    assert.is_nil(output:find("low/e", 1, true))
  end)

  it("skips an object whose source was deleted", function()
    local files = {["low/a"] = "d", ["high/d"] = ""}
    assert.is_false((check(files)))
    assert.is_true((check({["low/a"] = "d", ["high/d"] = "",
      ["low/b"] = ""}, "low/a")))
  end)

  it("handles the layers of the driver, whose core does not use ext",
    function()
    assert.is_true(check({["driver/run/list"] = "", ["driver/ext/graph"] =
      "list", ["driver/ddi"] = "graph list"}, nil, ""))
    local good, output = check({["driver/run/list"] = "graph",
      ["driver/ext/graph"] = ""}, nil, "")
    assert.is_false(good)
    assert.matches("driver/run/list uses graph of driver/ext/graph, above it",
      output, 1, true)
    good, output = check({["driver/memory/a"] = "b", ["driver/device/b"] = "",
      ["driver/base/c"] = "a"}, nil, "")
    assert.is_false(good)
    assert.matches("driver/memory/a uses b of driver/device/b", output, 1, true)
    assert.matches("driver/base/c uses a of driver/memory/a", output, 1, true)
  end)

  it("finds a file of the driver's front that names OpenCL", function()
    local files = {["driver/run/zocl_planted"] = "",
      ["driver/opencl/zocl_own"] = ""}
    local function plant(text, file)
      return check(files, nil, "", ("echo '%s' >>driver/%s.c"):format(text,
        file or "run/zocl_planted"))
    end
    assert.is_true((check(files, nil, "")))
    for _, text in ipairs {"/* cl_event */", "/* clFinish(queue) */",
      "/* CL_SUCCESS */", "/* zocl_cl *cl */", "/* waits as OpenCL does */",
      "/* zocl_opencl_tidy() */", "/* PoCL never ends it */"} do
      local good, output = plant(text)
      assert.is_false(good)
      assert.matches("driver/run/zocl_planted.c names OpenCL in line 2:" ..
        text, output, 1, true)
      assert.is_true((plant(text, "opencl/zocl_own")))
    end
    for _, text in ipairs {"/* a kernel in OpenCL C */", "/* class, close */",
      "/* OpenCL.std has it */"} do
      assert.is_true((plant(text)))
    end
  end)

  it("asks for shorter lists of the files that name OpenCL", function()
    local good, output = check({["driver/ext/zocl_image"] = ""}, nil, "",
      "echo '/* cl_event */' >>driver/ext/zocl_image.c")
    assert.is_true(good, output)
    good, output = check({["driver/ext/zocl_image"] = ""}, nil, "")
    assert.is_false(good)
    assert.matches("driver/ext/zocl_image.c no longer names OpenCL", output, 1,
      true)
  end)

  it("finds a circle of the driver's files", function()
    local good, output = check({["driver/run/a"] = "b", ["driver/run/b"] = "c",
      ["driver/run/c"] = "d", ["driver/run/d"] = "a"}, nil, "")
    assert.is_false(good)
    assert.matches("4 files use each other in a circle", output, 1, true)
  end)

  it("finds a header of a layer above", function()
    local files = {["src/base/a"] = "", ["src/queue/b"] = ""}
    local good, output = check(files, nil, "",
      "echo 'int b(void);' >src/queue/b.h; " ..
      "echo '#include \"queue/b.h\"' >>src/base/a.c")
    assert.is_false(good)
    assert.matches("src/base/a.c includes queue/b.h of src/queue, above it",
      output, 1, true)
    assert.is_true((check(files, nil, "",
      "echo 'int a(void);' >src/base/a.h; " ..
      "echo '#include \"base/a.h\"' >>src/queue/b.c")))
  end)

  it("checks every folder of C", function()
    local pipe = assert(io.popen(
      "sh scripts/check-layers ${LZE_TEST_BUILD:-build} 2>&1"))
    assert.is_nil(pipe:read "a":find("is not checked", 1, true))
    pipe:close()
  end)

  it("fails if there is nothing to check", function()
    assert.is_false((check {}))
  end)
end)
